package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/samsalog/samsa"

// sourceFile is one parsed Go file of the module.
type sourceFile struct {
	name      string // slash separated, relative to the module
	pkg       string // directory of name, "" for the root
	test      bool
	generated bool
	lines     int
	syntax    *ast.File
	positions *token.FileSet
}

// imports returns the import paths of the file.
func (f *sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// parsed is the module's source, read once for all tests.
var parsed = sync.OnceValues(parseAll)

// source returns every Go file of this module, whatever its build constraints.
func source(t *testing.T) []*sourceFile {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found only %d files: looking in the wrong place?", len(files))
	}
	return files
}

func parseAll() ([]*sourceFile, error) {
	root := filepath.Join("..", "..")
	var files []*sourceFile
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return fs.SkipDir // a module of its own
			}
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "build" || base == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parse(root, name)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

func parse(root, name string) (*sourceFile, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, name, content, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	pkg := path.Dir(rel)
	if pkg == "." {
		pkg = ""
	}
	return &sourceFile{
		name: rel, pkg: pkg, test: strings.HasSuffix(rel, "_test.go"), generated: ast.IsGenerated(syntax),
		lines: strings.Count(string(content), "\n"), syntax: syntax, positions: positions,
	}, nil
}

// packages returns the directories with non-test files, sorted.
func packages(files []*sourceFile) []string {
	var dirs []string
	for _, f := range files {
		if !f.test && !slices.Contains(dirs, f.pkg) {
			dirs = append(dirs, f.pkg)
		}
	}
	slices.Sort(dirs)
	return dirs
}
