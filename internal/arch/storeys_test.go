package arch

import (
	"slices"
	"strings"
	"testing"
)

// TestImportsFollowTheStoreys is ARCH-1 and ARCH-2.
func TestImportsFollowTheStoreys(t *testing.T) {
	type arrow struct{ from, to string }
	allowed := map[arrow]bool{}
	for _, e := range edges() {
		if e.why == "" {
			t.Errorf("edge %s -> %s has no reason", e.from, e.to)
		}
		allowed[arrow{e.from, e.to}] = true
	}
	used := map[arrow]bool{}
	for _, f := range source(t) {
		if f.test {
			continue
		}
		for _, imported := range f.imports() {
			to, ours := strings.CutPrefix(imported, modulePath)
			if !ours || to != "" && to[0] != '/' {
				continue
			}
			a := arrow{f.pkg, strings.TrimPrefix(to, "/")}
			if !allowed[a] && !used[a] {
				t.Errorf("%s imports %q: not an edge of the house. Is there a way down? If the edge is right, draw it in edges_test.go with its reason.", f.name, imported)
			}
			used[a] = true
		}
	}
	for a := range allowed {
		if !used[a] {
			t.Errorf("edge %q -> %q is not used any more: remove it", a.from, a.to)
		}
	}
}

// TestImportsOfOthers checks that each package uses only the modules that it has a reason for.
func TestImportsOfOthers(t *testing.T) {
	allowed := modules()
	for _, f := range source(t) {
		if f.test {
			continue
		}
		for _, imported := range f.imports() {
			first, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(imported, modulePath) {
				continue
			}
			ok := false
			for prefix := range allowed[f.pkg] {
				ok = ok || strings.HasPrefix(imported, prefix)
			}
			if !ok {
				t.Errorf("%s imports %q, for which modules() has no reason", f.name, imported)
			}
		}
	}
}

// TestEngineStaysAnEngine is ARCH-3: what the public engine library may not know, not even from the
// standard library.
func TestEngineStaysAnEngine(t *testing.T) {
	forbidden := []string{"net", "net/http", "log", "log/slog", "flag", "os/signal", "C"}
	rooms := engine()
	for _, f := range source(t) {
		if f.test || !slices.Contains(rooms, f.pkg) {
			continue
		}
		for _, imported := range f.imports() {
			if slices.Contains(forbidden, imported) || strings.Contains(imported, "franz-go") || strings.Contains(imported, "spf13") {
				t.Errorf("%s imports %q: the engine is used without a broker around it", f.name, imported)
			}
		}
	}
	present := packages(source(t))
	for _, room := range rooms {
		if !slices.Contains(present, room) {
			t.Errorf("engine package %s does not exist", room)
		}
	}
	for _, p := range present {
		if strings.HasPrefix(p, "storage") && !slices.Contains(rooms, p) {
			t.Errorf("package %s is not listed in engine()", p)
		}
	}
}

// TestNoC keeps the binary static and the build free of a C compiler.
func TestNoC(t *testing.T) {
	for _, f := range source(t) {
		if slices.Contains(f.imports(), "C") {
			t.Errorf("%s uses cgo", f.name)
		}
	}
}
