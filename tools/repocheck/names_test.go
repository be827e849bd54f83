package repocheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	namePattern = regexp.MustCompile("`([a-z]+)\\.([A-Za-z]\\w*)(?:\\.([A-Za-z]\\w*))?")
	testPattern = regexp.MustCompile(`\b((?:Test|Fuzz|Benchmark|Example)[A-Z]\w*)`)
)

// names is what a package declares: "Name" for a declaration at its top level, "Type.member" for methods and fields.
type names map[string]bool

// declared returns the names that the packages of this repository declare, by package name, and the
// functions of all test files.
func declared(t *testing.T) (byPackage map[string]names, tests names) {
	t.Helper()
	byPackage, tests = map[string]names{}, names{}
	for _, file := range find(t, func(p string) bool {
		return strings.HasSuffix(p, ".go") && !strings.Contains(p, "testdata/")
	}) {
		f, err := parser.ParseFile(token.NewFileSet(), path.Base(file), read(t, file), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		into := tests
		if !strings.HasSuffix(file, "_test.go") {
			if into = byPackage[f.Name.Name]; into == nil {
				into = names{}
				byPackage[f.Name.Name] = into
			}
		}
		for _, decl := range f.Decls {
			into.add(decl)
		}
	}
	return byPackage, tests
}

// add enters what one declaration declares.
func (n names) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "." + name
		}
		n[name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					n[id.Name] = true
				}
			case *ast.TypeSpec:
				n[s.Name.Name] = true
				n.members(s)
			}
		}
	}
}

// members enters the fields of a struct or the methods of an interface.
func (n names) members(s *ast.TypeSpec) {
	var list *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			n[s.Name.Name+"."+id.Name] = true
		}
	}
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// TestNames checks that what the documents call by its Go name exists: package.Name, package.Type.member and the tests.
func TestNames(t *testing.T) {
	t.Parallel()
	byPackage, tests := declared(t)
	checked := 0
	for _, file := range markdown(t) {
		text := prose(read(t, file))
		for _, m := range namePattern.FindAllStringSubmatch(text, -1) {
			pkg, ours := byPackage[m[1]]
			if !ours || m[2] == "go" || m[2] == "sql" || m[2] == "md" || m[2] == "pml" { // a file's name
				continue
			}
			checked++
			if name := m[2] + "." + m[3]; m[3] != "" && !pkg[name] && pkg[m[2]] {
				t.Errorf("%s names %s.%s, which does not exist", file, m[1], name)
			} else if !pkg[m[2]] {
				t.Errorf("%s names %s.%s, which does not exist", file, m[1], m[2])
			}
		}
		for _, code := range codePattern.FindAllStringSubmatch(text, -1) {
			for _, m := range testPattern.FindAllStringSubmatch(code[1], -1) {
				if checked++; !tests[m[1]] {
					t.Errorf("%s names the test %s, which does not exist", file, m[1])
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no name found: this test looks in the wrong place")
	}
}
