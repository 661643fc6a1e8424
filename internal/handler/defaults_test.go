package handler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// defaulted are the structures of responses, by name, that have a field whose default is not its zero value, with
// that field's name.
func defaulted() map[string]string {
	out, seen := map[string]string{}, map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || seen[t] {
			return
		}
		seen[t] = true
		v := reflect.New(t)
		if d, ok := v.Interface().(interface{ Default() }); ok {
			d.Default()
		}
		for i := range t.NumField() {
			if t.Field(i).Type.Kind() == reflect.Struct {
				walk(t.Field(i).Type) // its own defaults are its own business
			} else if !v.Elem().Field(i).IsZero() {
				out[t.Name()] = t.Field(i).Name
			}
			walk(t.Field(i).Type)
		}
	}
	for key := range int16(kmsg.MaxKey + 1) {
		if req := kmsg.RequestForKey(key); req != nil {
			walk(reflect.TypeOf(req.ResponseKind()))
		}
	}
	return out
}

// TestF14DefaultsAreSetOnPurpose: a structure of a response that has a default other than zero (preferred_read_replica
// is -1: with 0, consumers go to a broker 0 that does not exist) is made by kmsg's New functions, never by a literal,
// by new, by a variable declaration or by make with a length.
func TestF14DefaultsAreSetOnPurpose(t *testing.T) {
	names := defaulted()
	if names["FetchResponseTopicPartition"] == "" || names["MetadataResponse"] == "" {
		t.Fatalf("defaults are not seen: %v", names)
	}
	for _, dir := range []string{".", "../controller", "../group", "../wire"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
				lintDefaults(t, filepath.Join(dir, e.Name()), names)
			}
		}
	}
}

func lintDefaults(t *testing.T, file string, names map[string]string) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range zeroMade(tree, names) {
		t.Errorf("%s: kmsg.%s is made without its defaults (%s is not zero)", fset.Position(bad.Pos()), bad.Sel.Name, names[bad.Sel.Name])
	}
}

// zeroMade finds types of names that are made as zero values.
func zeroMade(tree *ast.File, names map[string]string) (bad []*ast.SelectorExpr) {
	add := func(x ast.Expr) {
		if s, ok := x.(*ast.SelectorExpr); ok && names[s.Sel.Name] != "" {
			if pkg, ok := s.X.(*ast.Ident); ok && pkg.Name == "kmsg" {
				bad = append(bad, s)
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			add(n.Type)
			if a, ok := n.Type.(*ast.ArrayType); ok && len(n.Elts) > 0 {
				if e, ok := n.Elts[0].(*ast.CompositeLit); ok && e.Type == nil {
					add(a.Elt)
				}
			}
		case *ast.ValueSpec:
			if len(n.Values) == 0 {
				add(n.Type)
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.Ident)
			switch {
			case !ok:
			case f.Name == "new":
				add(n.Args[0])
			case f.Name == "make" && !isZero(n.Args):
				if a, ok := n.Args[0].(*ast.ArrayType); ok {
					add(a.Elt)
				}
			}
		}
		return true
	})
	return bad
}

// isZero reports whether a make has no length but 0.
func isZero(args []ast.Expr) bool {
	if len(args) < 2 {
		return true
	}
	l, ok := args[1].(*ast.BasicLit)
	return ok && l.Value == "0"
}

// TestZeroMade: the check finds each way of making a zero value, and takes none for one that is not.
func TestZeroMade(t *testing.T) {
	for body, want := range map[string]int{
		`x := kmsg.FetchResponseTopicPartition{}`:                 1,
		`x := &kmsg.FetchResponseTopicPartition{Partition: 1}`:    1,
		`x := new(kmsg.FetchResponseTopicPartition)`:              1,
		`var x kmsg.FetchResponseTopicPartition`:                  1,
		`x := make([]kmsg.FetchResponseTopicPartition, n)`:        1,
		`x := make([]kmsg.FetchResponseTopicPartition, 0, n)`:     0,
		`x := kmsg.NewFetchResponseTopicPartition()`:              0,
		`var x []kmsg.FetchResponseTopicPartition`:                0,
		`x := kmsg.FindCoordinatorResponse{}`:                     0,
		`var x = kmsg.NewFetchResponseTopicPartition()`:           0,
		`x := []kmsg.FetchResponseTopicPartition{{Partition: 1}}`: 1,
	} {
		tree, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(zeroMade(tree, defaulted())); got != want {
			t.Errorf("%s: %d found, want %d", body, got, want)
		}
	}
}
