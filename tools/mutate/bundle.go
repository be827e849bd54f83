package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A bundle is a package with all of its mutants compiled in: one build instead of one a mutant.
// Each mutant is a copy of its function, and each function begins with a choice:
//
//	func f(a int) int { if 3 <= mutant && mutant <= 4 { switch mutant { case 3: return f_3(a); ...
//
// The environment's variable UIDRING_MUTANT says which mutant a process is, none by default.
const selector = `package %s

import (
	"os"
	"strconv"
)

var mutantOfProcess, _ = strconv.Atoi(os.Getenv("UIDRING_MUTANT"))
`

// bundle writes the files of a bundle into dir and returns the argument of the go command's
// -overlay flag. It numbers the mutants from 1 on.
func (s *source) bundle(all []*mutant, dir string) (overlay string, err error) {
	byFunc := map[*ast.FuncDecl][]*mutant{}
	for i, m := range all {
		m.number = i + 1
		byFunc[m.fn] = append(byFunc[m.fn], m)
	}
	replace := map[string]string{}
	write := func(name, text string) error {
		to := filepath.Join(dir, filepath.Base(name))
		replace[name] = to
		return os.WriteFile(to, []byte(text), 0o600)
	}
	for _, f := range s.files {
		var edits []edit
		var copies strings.Builder
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || byFunc[fn] == nil {
				continue
			}
			edits = append(edits, f.choice(fn, byFunc[fn])...)
			for _, m := range byFunc[fn] {
				copies.WriteString("\n" + f.copyOf(fn, m) + "\n")
			}
		}
		if err := write(f.name, string(apply(f.text, edits))+copies.String()); err != nil {
			return "", err
		}
	}
	name := s.files[0].ast.Name.Name
	selectorFile := filepath.Join(filepath.Dir(s.files[0].name), "mutant_of_process.go")
	if err := write(selectorFile, fmt.Sprintf(selector, name)); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// copyOf returns the function with the mutant's edits and a name of its own.
func (f *file) copyOf(fn *ast.FuncDecl, m *mutant) string {
	begin, end := f.offset(fn.Pos()), f.offset(fn.End())
	name := f.offset(fn.Name.End())
	edits := append(slices.Clone(m.edit), edit{name, name, fmt.Sprintf("_%d", m.number)})
	for i := range edits {
		edits[i].from -= begin
		edits[i].to -= begin
	}
	return string(apply(f.text[begin:end], edits))
}

// choice returns the edits by which a function calls its mutants, and names what it has to pass on.
func (f *file) choice(fn *ast.FuncDecl, mutants []*mutant) (edits []edit) {
	count := 0
	names := func(list *ast.FieldList) (args []string) {
		for _, field := range list.List {
			dots := ""
			if _, ok := field.Type.(*ast.Ellipsis); ok {
				dots = "..."
			}
			if len(field.Names) == 0 {
				count++
				name := fmt.Sprintf("arg_%d", count)
				at := f.offset(field.Pos())
				edits = append(edits, edit{at, at, name + " "})
				args = append(args, name+dots)
			}
			for _, id := range field.Names {
				name := id.Name
				if name == "_" {
					count++
					name = fmt.Sprintf("arg_%d", count)
					edits = append(edits, edit{f.offset(id.Pos()), f.offset(id.End()), name})
				}
				args = append(args, name+dots)
			}
		}
		return args
	}
	callee := fn.Name.Name
	if fn.Recv != nil {
		callee = names(fn.Recv)[0] + "." + callee
	}
	args := strings.Join(names(fn.Type.Params), ", ")
	var b strings.Builder
	fmt.Fprintf(&b, " if %d <= mutantOfProcess && mutantOfProcess <= %d { switch mutantOfProcess {",
		mutants[0].number, mutants[len(mutants)-1].number)
	for _, m := range mutants {
		call := fmt.Sprintf("%s_%d(%s)", callee, m.number, args)
		if fn.Type.Results != nil {
			fmt.Fprintf(&b, " case %d: return %s;", m.number, call)
		} else {
			fmt.Fprintf(&b, " case %d: %s; return;", m.number, call)
		}
	}
	b.WriteString(" }; };")
	at := f.offset(fn.Body.Lbrace) + 1
	return append(edits, edit{at, at, b.String()})
}

// apply returns text with some edits that do not overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	text = slices.Clone(text)
	for _, e := range edits {
		text = slices.Concat(text[:e.from], []byte(e.text), text[e.to:])
	}
	return text
}
