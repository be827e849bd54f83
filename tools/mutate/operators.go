package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// walker finds the mutants of one function.
type walker struct {
	*source
	file  *file
	where string            // file and function, as keys begin
	plain map[ast.Node]bool // literals that other operators change
	found []*mutant
}

// add notes a mutant.
func (w *walker) add(op, what string, edits ...edit) {
	w.found = append(w.found, &mutant{file: w.file, op: op, key: w.where + ": " +
		what, edit: edits})
}

// replace returns the edit that puts text in a node's place.
func (w *walker) replace(n ast.Node, text string) edit {
	return edit{w.file.offset(n.Pos()), w.file.offset(n.End()), text}
}

// around returns the edits that put text before and after a node.
func (w *walker) around(n ast.Node, before, after string) []edit {
	from, to := w.file.offset(n.Pos()), w.file.offset(n.End())
	return []edit{{from, from, before}, {to, to, after}}
}

// token returns the edit that replaces the operator at pos.
func (w *walker) token(pos token.Pos, old, text token.Token) edit {
	from := w.file.offset(pos)
	return edit{from, from + len(old.String()), text.String()}
}

// function applies all operators to one function.
func (w *walker) function(fn *ast.FuncDecl) {
	w.result(fn)
	w.locks(fn)
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			w.list(n.List)
		case *ast.CaseClause:
			w.list(n.Body)
		case *ast.CommClause:
			w.list(n.Body)
		case *ast.IfStmt:
			w.condition(n.Cond, true, true)
		case *ast.ForStmt:
			w.condition(n.Cond, false, true)
		case *ast.SwitchStmt:
			w.cases(n)
		case *ast.SelectStmt:
			w.clauses(n.Body)
		case *ast.BranchStmt:
			w.branch(n)
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				w.value(r)
				// Mostly next to an error.
				w.plain[r] = len(n.Results) > 1 && w.is(r, types.IsNumeric)
			}
		case *ast.AssignStmt:
			w.assign(n)
		case *ast.IncDecStmt:
			w.arithmetic(n.TokPos, n.Tok, n.X)
		case *ast.BinaryExpr:
			w.comparison(n)
			w.arithmetic(n.OpPos, n.Op, n)
		case *ast.BasicLit:
			w.literal(n)
		case *ast.Ident:
			w.boolean(n)
		case *ast.CompositeLit:
			w.fields(n)
		case *ast.CallExpr:
			if w.isText(n) {
				return false
			}
			w.extreme(n)
			w.atomic(n)
		case *ast.GenDecl:
			return n.Tok != token.CONST
		}
		return true
	})
}

// isText reports whether a call makes a message: what is in it is not mutated.
func (w *walker) isText(call *ast.CallExpr) bool {
	obj := w.callee(call)
	if obj == nil || obj.Pkg() == nil {
		return false
	}
	switch path := obj.Pkg().Path(); path {
	case "fmt", "errors":
		return obj.Name() != "Is" && obj.Name() != "As" && obj.Name() != "Join"
	case "log/slog":
		return true
	}
	return obj.Name() == "badOption"
}

// result mutates the whole function: it returns zero values at once.
func (w *walker) result(fn *ast.FuncDecl) {
	if len(fn.Body.List) == 0 { // such as a method that marks its type: it does so already
		return
	}
	var zero []string
	if fn.Type.Results != nil {
		for _, r := range fn.Type.Results.List {
			for range max(1, len(r.Names)) {
				zero = append(zero, "*new("+w.file.at(r.Type)+")")
			}
		}
	}
	begin := w.file.offset(fn.Body.Lbrace) + 1
	w.add("result", "returns at once", edit{begin, begin, " if true { return " + strings.Join(zero,
		", ") + " };"})
}

// condition mutates what a branch asks for: each operand of && and || is left out once, and the
// whole is true, or false, whatever its operands say.
func (w *walker) condition(e ast.Expr, always, never bool) {
	if e == nil {
		return
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			w.condition(e.X, never, always)
			return
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND: // one false operand makes the whole false: that is one mutant
			w.condition(e.X, true, never)
			w.condition(e.Y, true, false)
			return
		case token.LOR:
			w.condition(e.X, always, true)
			w.condition(e.Y, false, true)
			return
		}
	}
	if w.info.Types[e].Value != nil {
		return
	}
	what := short(w.file.at(e))
	if always {
		w.add("condition", what+" -> true", w.around(e, "((", ") || true)")...)
	}
	if never {
		w.add("condition", what+" -> false", w.around(e, "((", ") && false)")...)
	}
}

// value mutates a boolean that is no condition of a branch.
func (w *walker) value(e ast.Expr) {
	if !w.is(e, types.IsBoolean) {
		return
	}
	switch ast.Unparen(e).(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr:
		w.condition(e, true, true)
	}
}

// assign mutates a statement that assigns.
func (w *walker) assign(s *ast.AssignStmt) {
	for _, r := range s.Rhs {
		w.value(r)
	}
	w.arithmetic(s.TokPos, s.Tok, s.Lhs[0])
	if n := len(s.Lhs); n > 1 && n == len(s.Rhs) && s.Tok == token.ASSIGN {
		for i := range s.Lhs {
			what := w.file.at(s.Lhs[i]) + " = " + w.file.at(s.Rhs[i])
			w.add("removal", "without "+short(what), w.replace(s.Lhs[i], "_"))
		}
	}
}

// cases mutates a switch: the conditions of one without a tag, the clauses of the others.
func (w *walker) cases(s *ast.SwitchStmt) {
	if s.Tag != nil {
		w.clauses(s.Body)
		return
	}
	for _, c := range s.Body.List {
		clause, ok := c.(*ast.CaseClause)
		if !ok {
			continue
		}
		for _, e := range clause.List {
			w.condition(e, len(clause.List) == 1, true)
		}
	}
}

// clauses leaves out each clause of a switch or a select.
func (w *walker) clauses(body *ast.BlockStmt) {
	for _, c := range body.List {
		what, _, _ := strings.Cut(w.file.at(c), "\n")
		w.add("condition", "without "+short(what), w.replace(c, ""))
	}
}

// branch turns continue and break into each other.
func (w *walker) branch(b *ast.BranchStmt) {
	if b.Label != nil {
		return
	}
	switch b.Tok {
	case token.CONTINUE:
		w.add("condition", "continue -> break", w.replace(b, "break"))
	case token.BREAK:
		w.add("condition", "break -> continue", w.replace(b, "continue"))
	}
}

// comparison moves the bound of a comparison by one.
func (w *walker) comparison(e *ast.BinaryExpr) {
	switch e.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		w.plain[e.X], w.plain[e.Y] = true, true
	}
	other := map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}
	if to, ok := other[e.Op]; ok {
		w.add("boundary", short(w.file.at(e))+" -> "+to.String(), w.token(e.OpPos, e.Op, to))
	}
}

// arithmetic replaces an operator of numbers by its opposite.
func (w *walker) arithmetic(pos token.Pos, op token.Token, e ast.Expr) {
	if !w.is(e, types.IsNumeric) || w.info.Types[e].Value != nil {
		return
	}
	other := map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
		token.REM: token.QUO, token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR,
		token.OR: token.AND, token.XOR: token.AND, token.AND_NOT: token.AND,
		token.INC: token.DEC, token.DEC: token.INC,
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
		token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
		token.REM_ASSIGN: token.QUO_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN,
		token.SHR_ASSIGN: token.SHL_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
		token.OR_ASSIGN: token.AND_ASSIGN, token.XOR_ASSIGN: token.AND_ASSIGN,
		token.AND_NOT_ASSIGN: token.AND_ASSIGN,
	}
	to, ok := other[op]
	if !ok {
		return
	}
	what := short(w.file.at(e))
	if op.IsOperator() && strings.HasSuffix(op.String(), "=") || op == token.INC ||
		op == token.DEC {
		what += " " + op.String()
	}
	w.add("arithmetic", what+" -> "+to.String(), w.token(pos, op, to))
}

// is reports whether an expression's type is basic and of a kind.
func (w *walker) is(e ast.Expr, kind types.BasicInfo) bool {
	typ := w.info.TypeOf(e)
	if typ == nil {
		return false
	}
	b, ok := typ.Underlying().(*types.Basic)
	return ok && b.Info()&kind != 0
}

// literal moves the numbers by which code is off by one. An operand of a comparison is left to the
// other operators.
func (w *walker) literal(lit *ast.BasicLit) {
	to, ok := map[string]string{"0": "1", "1": "0", "2": "1", "63": "62"}[lit.Value]
	if ok && !w.plain[lit] {
		w.add("literal", w.line(lit)+" "+lit.Value+" -> "+to, w.replace(lit, to))
	}
}

// boolean turns true and false into each other.
func (w *walker) boolean(id *ast.Ident) {
	if obj := w.info.Uses[id]; obj == types.Universe.Lookup("true") {
		w.add("literal", w.line(id)+" true -> false", w.replace(id, "false"))
	} else if obj == types.Universe.Lookup("false") {
		w.add("literal", w.line(id)+" false -> true", w.replace(id, "true"))
	}
}

// line returns the text of the line that a node begins on, in quotes: what tells a literal from
// its likes.
func (w *walker) line(n ast.Node) string {
	at := w.file.offset(n.Pos())
	begin := strings.LastIndexByte(string(w.file.text[:at]), '\n') + 1
	text, _, _ := strings.Cut(string(w.file.text[begin:]), "\n")
	code, _, _ := strings.Cut(text, " // ")
	return "`" + short(code) + "`"
}
