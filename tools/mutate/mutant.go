package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// mutant is a package with a change that its tests should notice.
type mutant struct {
	file *file
	fn   *ast.FuncDecl
	op   string // what kind of change: one of the operators' names
	key  string // names the mutant for as long as the code around it stays: file, function, change
	edit []edit

	number int // in its bundle
}

// edit replaces a stretch of a file's text.
type edit struct {
	from, to int
	text     string
}

// text returns the file with the mutant's edits.
func (m *mutant) text() []byte { return apply(m.file.text, m.edit) }

// function returns the part of a key that names file and function.
func function(key string) string {
	where, _, _ := strings.Cut(key, ": ")
	return where
}

// mutants returns the package's mutants that compile, and whose operator and key match: no two have
// the same key.
func (s *source) mutants(match *regexp.Regexp) []*mutant {
	var all []*mutant
	for _, f := range s.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				w := walker{source: s, file: f, where: s.rel(f) + " " + funcName(fn),
					plain: map[ast.Node]bool{}}
				w.function(fn)
				for _, m := range w.found {
					m.fn = fn
				}
				all = append(all, w.found...)
			}
		}
	}
	all = slices.DeleteFunc(all, func(m *mutant) bool { return !s.compiles(m) })
	seen := map[string]int{}
	for _, m := range all {
		seen[m.key]++
		if n := seen[m.key]; n > 1 {
			m.key = fmt.Sprintf("%s #%d", m.key, n)
		}
	}
	return slices.DeleteFunc(all, func(m *mutant) bool { // last: the numbers are those of all
		return !match.MatchString(m.op + " " + m.key)
	})
}

// funcName returns a function's name, with its receiver's type for a method.
func funcName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	if g, ok := typ.(*ast.IndexExpr); ok {
		typ = g.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// short squeezes code onto one line of readable length.
func short(code string) string {
	const most = 72
	if r := []rune(strings.Join(strings.Fields(code), " ")); len(r) > most {
		return string(r[:most-1]) + "…"
	} else {
		return string(r)
	}
}
