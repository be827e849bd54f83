package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// source is a package to be mutated, parsed and type-checked.
type source struct {
	pkg    string // the package's folder below the root, with slashes: "uid"
	path   string // import path
	fset   *token.FileSet
	files  []*file
	info   *types.Info
	imp    types.Importer
	shared map[types.Object]bool // functions that touch what goroutines share; see sharing
}

// file is one of its files, tests apart.
type file struct {
	name string // absolute
	text []byte
	ast  *ast.File
	decl *ast.File // without the bodies of functions, to type-check another file of the package
}

// load reads the package in the folder pkg below root.
func load(ctx context.Context, root, pkg string) (*source, error) {
	s := &source{pkg: pkg, fset: token.NewFileSet()}
	if err := s.list(ctx, root); err != nil {
		return nil, err
	}
	if len(s.files) == 0 {
		return nil, fmt.Errorf("%s: no Go files", pkg)
	}
	s.info = &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
		Defs:  map[*ast.Ident]types.Object{},
	}
	asts := make([]*ast.File, len(s.files))
	for i, f := range s.files {
		text, err := os.ReadFile(f.name)
		if err != nil {
			return nil, err
		}
		f.text = text
		if f.ast, err = parser.ParseFile(s.fset, f.name, text,
			parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		asts[i], f.decl = f.ast, declarations(f.ast)
	}
	conf := types.Config{Importer: s.imp}
	if _, err := conf.Check(s.path, s.fset, asts, s.info); err != nil {
		return nil, err
	}
	s.shared = s.sharing()
	return s, nil
}

// list asks the go command for the package's files and for the export data of what it imports.
func (s *source) list(ctx context.Context, root string) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-export",
		"-json=ImportPath,Dir,GoFiles,Export", "./"+s.pkg)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("listing %s: %w: %s", s.pkg, err, stderr.String())
	}
	exports := map[string]string{}
	dir := filepath.Join(root, filepath.FromSlash(s.pkg))
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("listing %s: %w", s.pkg, err)
		}
		exports[p.ImportPath] = p.Export
		if p.Dir == dir {
			s.path = p.ImportPath
			for _, name := range p.GoFiles {
				s.files = append(s.files, &file{name: filepath.Join(dir, name)})
			}
		}
	}
	s.imp = importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	return nil
}

// declarations returns a file without the bodies of its functions. Generic ones keep theirs: they
// have to have one.
func declarations(f *ast.File) *ast.File {
	short := *f
	short.Decls = slices.Clone(f.Decls)
	for i, d := range short.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && !isGeneric(fn) {
			without := *fn
			without.Body = nil
			short.Decls[i] = &without
		}
	}
	return &short
}

func isGeneric(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return fn.Type.TypeParams != nil
	}
	typ := fn.Recv.List[0].Type
	if p, ok := typ.(*ast.StarExpr); ok {
		typ = p.X
	}
	_, named := typ.(*ast.Ident)
	return !named
}

// compiles reports whether the package type-checks with the mutant's text in place of the file's.
// It looks at the declarations of the other files only.
func (s *source) compiles(m *mutant) bool {
	asts := make([]*ast.File, len(s.files))
	for i, f := range s.files {
		asts[i] = f.decl
		if f == m.file {
			var err error
			if asts[i], err = parser.ParseFile(s.fset, f.name, m.text(),
				parser.SkipObjectResolution); err != nil {
				return false
			}
		}
	}
	good := true
	conf := types.Config{Importer: s.imp, Error: func(err error) {
		// Without their bodies the other files use fewer imports.
		e, ok := errors.AsType[types.Error](err)
		good = good && ok && e.Soft && s.fset.Position(e.Pos).Filename != m.file.name
	}}
	_, _ = conf.Check(s.path, s.fset, asts, nil) // its error has been judged
	return good
}

// rel returns the file's path below the root.
func (s *source) rel(f *file) string { return path.Join(s.pkg, filepath.Base(f.name)) }

// at returns the text of a node.
func (f *file) at(n ast.Node) string { return string(f.text[f.offset(n.Pos()):f.offset(n.End())]) }

// offset returns where in the text a position of the file is.
func (f *file) offset(p token.Pos) int { return int(p - f.ast.FileStart) }

// sharing returns the functions of the package that touch what goroutines share, themselves or
// through other functions of the package: the order of two such statements may matter.
func (s *source) sharing() map[types.Object]bool {
	shared := map[types.Object]bool{}
	for grew := true; grew; {
		grew = false
		for _, f := range s.files {
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				if obj := s.info.Defs[fn.Name]; !shared[obj] && s.touches(fn.Body, shared) {
					shared[obj] = true
					grew = true
				}
			}
		}
	}
	return shared
}

// touches reports whether n uses an atomic, a channel, a lock, or a function in shared.
func (s *source) touches(n ast.Node, shared map[types.Object]bool) (yes bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // runs later
		case *ast.SendStmt:
			yes = true
		case *ast.CallExpr:
			obj := s.callee(n)
			switch {
			case obj == nil:
			case obj.Pkg() == nil:
				yes = yes || obj.Name() == "close"
			case strings.HasPrefix(obj.Pkg().Path(), "sync"):
				yes = true
			case shared[obj], obj.Pkg().Path() != s.path && s.ours(obj.Pkg()):
				yes = true
			}
		}
		return !yes
	})
	return yes
}

// ours reports whether a package is of this module and uses package sync.
func (s *source) ours(p *types.Package) bool {
	return strings.HasPrefix(p.Path(), strings.TrimSuffix(s.path, s.pkg)) &&
		slices.ContainsFunc(p.Imports(),
			func(p *types.Package) bool { return strings.HasPrefix(p.Path(), "sync") })
}

// callee returns the function that a call names, nil for a call of a value.
func (s *source) callee(call *ast.CallExpr) types.Object {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	switch obj := s.info.Uses[id].(type) {
	case *types.Func, *types.Builtin:
		return obj
	}
	return nil
}
