package repocheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
)

// TestSentinels: the text of every exported sentinel begins with its package, so that it says whose
// error it is wherever it ends up.
func TestSentinels(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range find(t, func(p string) bool {
		return strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") &&
			!strings.Contains(p, "testdata/") && !strings.Contains("/"+p, "/internal/")
	}) {
		f, err := parser.ParseFile(token.NewFileSet(), path.Base(file), read(t, file), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range sentinels(t, f) {
			checked++
			if want := f.Name.Name + ": "; !strings.HasPrefix(text, want) {
				t.Errorf("%s: %s is %q, want a text that begins with %q", file, name, text, want)
			}
		}
	}
	if checked < 30 {
		t.Errorf("found %d sentinels, want 30 or more: is the search broken?", checked)
	}
}

// sentinels returns the texts of the exported variables of f that errors.New makes, by name.
func sentinels(t *testing.T, f *ast.File) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, decl := range f.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				call, ok := value.(*ast.CallExpr)
				if !ok || !v.Names[i].IsExported() {
					continue
				}
				callee, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || callee.Sel.Name != "New" {
					continue
				}
				if of, ok := callee.X.(*ast.Ident); !ok || of.Name != "errors" {
					continue
				}
				literal, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					t.Fatalf("%s: %s is no literal", f.Name.Name, v.Names[i])
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				all[v.Names[i].Name] = text
			}
		}
	}
	return all
}
