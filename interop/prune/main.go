// Command prune takes away from Go packages what does not compile, declaration by declaration, until the rest does. It
// prints the tests that it took away.
//
//	prune DIR PACKAGE…
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// rounds bounds how often it is tried: each takes away what the one before made useless.
const rounds = 40

var complaint = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.*)$`)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "prune DIR PACKAGE…")
		os.Exit(2)
	}
	for _, pkg := range os.Args[2:] {
		if err := prune(os.Args[1], pkg); err != nil {
			fmt.Fprintln(os.Stderr, "prune:", err)
			os.Exit(1)
		}
	}
}

func prune(dir, pkg string) error {
	for range rounds {
		cmd := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-o", os.DevNull, pkg)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		wrong := map[string]map[int]string{} // complaints by file and line
		for _, m := range complaint.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[2])
			file := filepath.Join(dir, m[1])
			if wrong[file] == nil {
				wrong[file] = map[int]string{}
			}
			wrong[file][line] = m[3]
		}
		if len(wrong) == 0 {
			return fmt.Errorf("%s: %w\n%s", pkg, err, out)
		}
		for file, lines := range wrong {
			if err := cut(file, lines); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%s does not compile after %d rounds", pkg, rounds)
}

// cut takes the declarations out of a file that have complaints; imports lose their lines.
func cut(file string, lines map[int]string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, b, parser.ParseComments)
	if err != nil {
		return err
	}
	text := strings.Split(string(b), "\n")
	blank := func(from, to int) {
		for i := from; i <= to; i++ {
			text[i-1] = ""
		}
	}
	for line, what := range lines {
		if strings.Contains(what, "imported and not used") {
			blank(line, line)
			continue
		}
		for _, d := range f.Decls {
			from, to := set.Position(d.Pos()).Line, set.Position(d.End()).Line
			if line < from || line > to {
				continue
			}
			blank(from, to)
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
				fmt.Println(fn.Name.Name)
			}
		}
	}
	return os.WriteFile(file, []byte(strings.Join(text, "\n")), 0o644)
}
