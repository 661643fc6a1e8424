package arch

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryPackageHasItsPage checks doc.go and its five headings, in this order.
func TestEveryPackageHasItsPage(t *testing.T) {
	files := source(t)
	headings := []string{"# What it owns", "# Data in and out", "# Invariants", "# Concurrency", "# "}
	for _, pkg := range packages(files) {
		var doc string
		isMain := false
		for _, f := range files {
			if f.pkg != pkg || f.test {
				continue
			}
			isMain = isMain || f.syntax.Name.Name == "main"
			if strings.HasSuffix(f.name, "doc.go") && f.syntax.Doc != nil {
				doc = f.syntax.Doc.Text()
			}
		}
		if isMain {
			continue
		}
		if doc == "" {
			t.Errorf("package %s has no doc.go with a package comment", pkg)
			continue
		}
		at := 0
		for _, h := range headings {
			i := strings.Index(doc[at:], "\n"+h)
			if i < 0 {
				t.Errorf("doc.go of %s: heading %q is missing or out of order", pkg, h)
				break
			}
			at += i + 1 + len(h)
		}
	}
}

// TestNoBags: a package is named after what it owns.
func TestNoBags(t *testing.T) {
	for _, f := range source(t) {
		if slices.Contains([]string{"util", "utils", "common", "types", "helpers", "misc", "base"}, f.syntax.Name.Name) {
			t.Errorf("%s: a package named %s owns nothing", f.name, f.syntax.Name.Name)
		}
	}
}

// TestNoInit: everything arrives through options, nothing registers itself.
func TestNoInit(t *testing.T) {
	for _, f := range source(t) {
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function", f.positions.Position(fn.Pos()))
			}
		}
	}
}

// processWide lists the package variables that must be shared by everything in a process, with the reason.
func processWide() map[string]string {
	return map[string]string{
		"vfs.held": "where POSIX locks belong to the process, a second lock in it must be refused by us",
	}
}

// TestNoMutablePackageVariables looks for assignments to package variables: they would be state that two
// brokers in one process share.
func TestNoMutablePackageVariables(t *testing.T) {
	excused := processWide()
	files := source(t)
	declared := map[string]map[string]bool{}
	for _, f := range files {
		if f.test {
			continue
		}
		if declared[f.pkg] == nil {
			declared[f.pkg] = map[string]bool{}
		}
		for _, decl := range f.syntax.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					declared[f.pkg][name.Name] = true
				}
			}
		}
	}
	for _, f := range files {
		if f.test {
			continue
		}
		changed := func(target ast.Expr) {
			id := rootOf(target)
			if id == nil || id.Name == "_" || excused[f.pkg+"."+id.Name] != "" || !declared[f.pkg][id.Name] || isLocal(f, id) {
				return
			}
			t.Errorf("%s changes package variable %s", f.positions.Position(id.Pos()), id.Name)
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, target := range n.Lhs {
						changed(target)
					}
				}
			case *ast.IncDecStmt:
				changed(n.X)
			}
			return true
		})
	}
}

// rootOf returns x of x, x.f, x[i] and *x.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// isLocal reports whether id is declared inside a function, by the parser's own resolution of scopes.
func isLocal(f *sourceFile, id *ast.Ident) bool {
	if id.Obj == nil {
		return false
	}
	return f.syntax.Scope.Lookup(id.Name) != id.Obj
}

// TestFilesAndFunctionsStayReadable: at these sizes a second thing is hiding inside.
func TestFilesAndFunctionsStayReadable(t *testing.T) {
	const longestFile, longestFunction = 800, 100
	for _, f := range source(t) {
		if f.generated {
			continue
		}
		if f.lines > longestFile {
			t.Errorf("%s has %d lines, more than %d", f.name, f.lines, longestFile)
		}
		for _, decl := range f.syntax.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || f.test || isTable(fn) {
				continue
			}
			lines := f.positions.Position(fn.End()).Line - f.positions.Position(fn.Pos()).Line + 1
			if lines > longestFunction {
				t.Errorf("%s: %s has %d lines, more than %d", f.positions.Position(fn.Pos()), fn.Name.Name, lines, longestFunction)
			}
		}
	}
}

// isTable reports whether a function only returns a literal: a table may be as long as it is.
func isTable(fn *ast.FuncDecl) bool {
	if fn.Body == nil || len(fn.Body.List) != 1 {
		return false
	}
	_, ok := fn.Body.List[0].(*ast.ReturnStmt)
	return ok
}

// TestEveryModuleHasAReason compares go.mod with docs/dependencies.md.
func TestEveryModuleHasAReason(t *testing.T) {
	read := func(parts ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	reasons := read("docs", "dependencies.md")
	for _, mod := range []string{"go.mod", filepath.Join("interop", "go.mod"), filepath.Join("bench", "go.mod")} {
		for line := range strings.Lines(read(mod)) {
			fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if len(fields) < 2 || !strings.HasPrefix(fields[1], "v") || strings.Contains(line, "// indirect") || fields[0] == modulePath {
				continue
			}
			if !strings.Contains(reasons, "| `"+fields[0]+"` |") {
				t.Errorf("%s requires %s, which has no line in docs/dependencies.md", mod, fields[0])
			}
		}
	}
}
