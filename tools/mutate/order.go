package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// This file has the operators that change what other goroutines see.

// list mutates the statements of a block: each is left out once, and two neighbours that touch what
// goroutines share change places.
func (w *walker) list(list []ast.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				w.remove(s)
			}
		case *ast.ExprStmt, *ast.DeferStmt:
			if name, _ := lockCall(w.file, s); name == "" {
				w.remove(s)
			}
			if e, ok := s.(*ast.ExprStmt); ok {
				w.plain[e.X] = true
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt:
			w.remove(s)
		}
		if next := w.neighbour(list[i:]); next != nil && w.isShared(s) && w.isShared(next) {
			a, b := w.file.at(s), w.file.at(next)
			w.add("order", short(b)+" before "+short(a), w.replace(s, b), w.replace(next, a))
		}
	}
}

// remove leaves a statement out.
func (w *walker) remove(s ast.Stmt) {
	w.add("removal", "without "+short(w.file.at(s)), w.replace(s, ""))
}

// neighbour returns the statement after the first of a list, nil if there is none. What follows a
// lock is the first statement that it protects, not the deferred unlock.
func (w *walker) neighbour(list []ast.Stmt) ast.Stmt {
	if _, lock := lockCall(w.file, list[0]); lock && len(list) > 1 {
		if _, ok := list[1].(*ast.DeferStmt); ok {
			list = list[1:]
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list[1]
}

// isShared reports whether a simple statement locks or unlocks, or touches what goroutines share.
func (w *walker) isShared(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt, *ast.SendStmt:
		name, _ := lockCall(w.file, s)
		return name != "" || w.touches(s, w.shared)
	}
	return false
}

// locks leaves out each lock of a function, together with the unlocks.
func (w *walker) locks(fn *ast.FuncDecl) {
	locked, edits := map[string]bool{}, map[string][]edit{}
	var order []string
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		s, ok := n.(ast.Stmt)
		if !ok {
			return true
		}
		if name, lock := lockCall(w.file, s); name != "" {
			if edits[name] == nil {
				order = append(order, name)
			}
			locked[name] = locked[name] || lock
			edits[name] = append(edits[name], w.replace(s, ""))
		}
		return true
	})
	for _, name := range order {
		if locked[name] && len(edits[name]) > 1 {
			w.add("lock", "without the lock "+name, edits[name]...)
		}
	}
}

// lockCall returns the name of the lock that a statement locks or unlocks, "" if it does neither.
func lockCall(f *file, s ast.Stmt) (name string, lock bool) {
	var e ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		e = s.X
	case *ast.DeferStmt:
		e = s.Call
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return "", false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	method, what, _ := strings.Cut(sel.Sel.Name, "ock")
	if what = strings.TrimPrefix(what, "s"); what != "" {
		what = "." + what
	}
	switch method {
	case "L", "l", "RL":
		return f.at(sel.X) + what, true
	case "Unl", "unl", "RUnl":
		return f.at(sel.X) + what, false
	}
	return "", false
}

// atomic takes operations on atomics apart: a compare-and-swap becomes a store, an addition or a
// swap whose result is used becomes a load and a store. What is stored is off by one.
func (w *walker) atomic(call *ast.CallExpr) {
	obj := w.callee(call)
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != "sync/atomic" ||
		len(call.Args) == 0 {
		return
	}
	word, value := w.file.at(sel.X), call.Args[len(call.Args)-1]
	what, new := short(w.file.at(call)), w.file.at(value)
	typ := types.TypeString(w.info.TypeOf(call), func(p *types.Package) string { return p.Name() })
	switch obj.Name() {
	case "CompareAndSwap":
		w.add("atomic", what+" -> Store", w.replace(call,
			"func() bool { _ = "+w.file.at(
				call.Args[0])+"; "+word+".Store("+new+"); return true }()"))
	case "Add":
		if w.plain[call] { // a count whose value nobody looks at here
			return
		}
		w.add("atomic", what+" -> Load, Store", w.replace(call,
			"func() "+typ+" { v := "+word+".Load() + "+new+"; "+word+".Store(v); return v }()"))
	case "Swap":
		w.add("atomic", what+" -> Load, Store", w.replace(call,
			"func() "+typ+" { v := "+word+".Load(); "+word+".Store("+new+"); return v }()"))
	case "Store":
	default:
		return
	}
	w.plain[value] = true
	w.add("literal", what+" + 1", w.around(value, "(", ") + 1")...)
}

// extreme leaves out each operand of min and max.
func (w *walker) extreme(call *ast.CallExpr) {
	obj := w.callee(call)
	if obj == nil || obj.Pkg() != nil || obj.Name() != "min" && obj.Name() != "max" ||
		len(call.Args) < 2 {
		return
	}
	for i, arg := range call.Args {
		rest := slices.Delete(slices.Clone(call.Args), i, i+1)
		texts := make([]string, len(rest))
		for k, e := range rest {
			texts[k] = w.file.at(e)
		}
		w.add("boundary", short(w.file.at(call))+" without "+short(w.file.at(arg)),
			w.replace(call, obj.Name()+"("+strings.Join(texts, ", ")+")"))
	}
}

// fields leaves out each field of a struct's literal.
func (w *walker) fields(lit *ast.CompositeLit) {
	typ := w.info.TypeOf(lit).Underlying()
	if p, ok := typ.(*types.Pointer); ok { // of an element without its type
		typ = p.Elem().Underlying()
	}
	if _, ok := typ.(*types.Struct); !ok {
		return
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		end := w.file.offset(kv.End())
		if rest := w.file.text[end:]; len(rest) > 0 && rest[0] == ',' {
			end++
		}
		w.add("removal", "without "+short(w.file.at(kv)), edit{w.file.offset(kv.Pos()), end, ""})
	}
}
