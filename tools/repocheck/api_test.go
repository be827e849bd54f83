package repocheck

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("api", false, "write docs/api anew")

// apiFolder has a file for each package that programs import, with a line for each exported name.
const apiFolder = "docs/api"

// TestAPI shows any change of what programs may use: docs/api has it, so that a change of it is seen
// in a diff, and meant.
func TestAPI(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for dir, lines := range exported(t) {
		slices.Sort(lines)
		name := strings.ReplaceAll(path.Join("uidring", dir), "/", "-") + ".txt"
		want[path.Join(apiFolder, name)] = strings.Join(lines, "\n") + "\n"
	}
	if *updateAPI {
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range find(t, func(p string) bool { return path.Dir(p) == apiFolder }) {
		text, ok := want[name]
		switch {
		case !ok && *updateAPI:
			if err := os.Remove(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				t.Fatal(err)
			}
		case !ok:
			t.Errorf("%s is of no package", name)
		default:
			got := read(t, name)
			for line := range strings.Lines(text) {
				if !strings.Contains("\n"+got, "\n"+line) {
					t.Errorf("%s lacks %s", name, line)
				}
			}
			for line := range strings.Lines(got) {
				if !strings.Contains("\n"+text, "\n"+line) {
					t.Errorf("%s has what is not exported: %s", name, line)
				}
			}
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is missing", name)
	}
	if t.Failed() {
		t.Log(`if the change is meant: go test ./tools/repocheck -count=1 -run=TestAPI -api`)
	}
}

// exported returns a line for each exported name of the packages that other modules can import and
// are meant to, by folder.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	lines := map[string][]string{}
	promoted := map[string][]string{} // by folder and unexported type
	notAPI := regexp.MustCompile(`^(bench|cmd|examples|test|tools)/|(^|/)(internal|testdata)/|_test\.go$`)
	for _, file := range find(t, func(p string) bool {
		return strings.HasSuffix(p, ".go") && !notAPI.MatchString(p)
	}) {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path.Base(file), read(t, file), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		a := &api{files: files, dir: path.Dir(file), promoted: promoted}
		for _, decl := range f.Decls {
			a.add(decl)
		}
		lines[path.Dir(file)] = append(lines[path.Dir(file)], a.lines...)
	}
	for dir, l := range lines {
		for _, line := range l {
			if _, of, ok := strings.Cut(line, " has "); ok {
				l = append(l, promoted[dir+"."+strings.TrimPrefix(of, "*")]...)
			}
		}
		slices.Sort(l)
		lines[dir] = slices.Compact(l) // a name of several systems
	}
	return lines
}

// iotaWord stands for the number of a constant within its group.
var iotaWord = regexp.MustCompile(`\biota\b`)

// api collects lines.
type api struct {
	files    *token.FileSet
	dir      string
	lines    []string
	promoted map[string][]string // methods of unexported types, which exported ones may embed
}

// text returns a node as one line.
func (a *api) text(node any) string {
	var b strings.Builder
	if err := printer.Fprint(&b, a.files, node); err != nil {
		panic(err)
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(b.String()), " "), "( ", "(")
}

// add enters what a declaration exports.
func (a *api) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return
		}
		line := a.text(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type})
		if d.Recv != nil {
			if of := receiver(d.Recv.List[0].Type); !ast.IsExported(of) {
				a.promoted[a.dir+"."+of] = append(a.promoted[a.dir+"."+of], line)
				return
			}
		}
		a.lines = append(a.lines, line)
	case *ast.GenDecl:
		var before *ast.ValueSpec // what a constant without a value repeats
		for i, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				if s.Type != nil || s.Values != nil || before == nil {
					before = s
				}
				for k, id := range s.Names {
					if id.IsExported() {
						a.lines = append(a.lines, d.Tok.String()+" "+id.Name+a.value(before, i, k))
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					a.typ(s)
				}
			}
		}
	}
}

// value returns the type and the value of name k of a declaration, which is entry i of its group.
func (a *api) value(s *ast.ValueSpec, i, k int) (text string) {
	if s.Type != nil {
		text = " " + a.text(s.Type)
	}
	if k < len(s.Values) {
		text += " = " + iotaWord.ReplaceAllString(a.text(s.Values[k]), strconv.Itoa(i))
	}
	return text
}

// typ enters a type with its exported fields or its methods.
func (a *api) typ(s *ast.TypeSpec) {
	name, params := s.Name.Name, ""
	if s.TypeParams != nil { // as the printer writes those of a function
		f := a.text(&ast.FuncType{TypeParams: s.TypeParams, Params: &ast.FieldList{}})
		params = strings.TrimSuffix(strings.TrimPrefix(f, "func"), "()")
	}
	if s.Assign.IsValid() {
		params += " ="
	}
	var list *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
		a.lines = append(a.lines, "type "+name+params+" struct")
	case *ast.InterfaceType:
		list = typ.Methods
		a.lines = append(a.lines, "type "+name+params+" interface")
	default:
		a.lines = append(a.lines, "type "+name+params+" "+a.text(s.Type))
		return
	}
	for _, field := range list.List {
		if len(field.Names) == 0 {
			a.lines = append(a.lines, name+" has "+a.text(field.Type))
		}
		for _, id := range field.Names {
			if id.IsExported() {
				a.lines = append(a.lines, name+"."+id.Name+" "+a.text(field.Type))
			}
		}
	}
}
