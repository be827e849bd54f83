package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

type parseCmd struct {
	layoutFlags `embed:""`
	IDs         []string `arg:"" optional:"" name:"id" help:"Ids, in any text form. None, or -: read them from standard input."`
	Format      string   `short:"f" enum:"table,json,baidu" default:"table" help:"table, json (one object a line) or baidu (the original's JSON)."`
	Form        idForm   `enum:"auto,dec,base32,base62" default:"auto" help:"Text form of the ids: auto, dec, base32 or base62."`
	Zone        string   `default:"local" placeholder:"ZONE" help:"Time zone of the times shown: local, UTC or a name such as Asia/Shanghai."`
}

// Run prints every id that it can take apart and complains about the others one by one; any of those fails the run.
func (c *parseCmd) Run(ctx context.Context, p *program) error {
	layout, err := c.resolve()
	if err != nil {
		return err
	}
	zone, err := loadZone(c.Zone)
	if err != nil {
		return err
	}
	words, more := argWords(c.IDs), func() bool { return true }
	if len(c.IDs) == 0 || len(c.IDs) == 1 && c.IDs[0] == "-" {
		if isTerminal(p.stdin) {
			fmt.Fprintln(p.stderr, "uid: reading ids from the terminal; end with Ctrl-D")
		}
		in := readWords(ctx, p.stdin)
		words, more = in.all(ctx), in.ready
	}
	pr := idPrinter{anatomy: anatomy{layout: layout, zone: zone, now: p.now}, format: c.Format, p: p}
	failed := false
	for word, err := range words {
		if err != nil {
			return err
		}
		if err := pr.print(word, c.Form); err != nil {
			var bad badIDError
			if !errors.As(err, &bad) {
				return err
			}
			failed = true
			p.out.Flush() // so that on a terminal the complaint stands where the id would
			p.complain(bad)
		}
		if !more() {
			// Nothing else has come yet: whoever types or pipes the ids one by one sees each line at once.
			if err := p.out.Flush(); err != nil {
				return err
			}
		}
	}
	if failed {
		return errReported
	}
	return nil
}

// badIDError is a word that is no id of the layout.
type badIDError struct{ error }

// idPrinter prints ids in one format.
type idPrinter struct {
	anatomy
	format string
	p      *program
	table  *columns
}

// print takes one word apart and prints it; a badIDError leaves the output as it was.
func (pr *idPrinter) print(word string, want idForm) error {
	id, form, also, err := parseID(word, want, pr.layout.decode != nil)
	if err != nil {
		return badIDError{err}
	}
	parts, err := pr.layout.parts(id)
	if err != nil {
		return badIDError{fmt.Errorf("bad id: %s %w", id, err)}
	}
	if also != "" {
		fmt.Fprintf(pr.p.stderr, "uid: note: %q is read as a decimal number; --form %s reads it as %s\n", word, also, also)
	}
	switch pr.format {
	case "json":
		return pr.json(pr.p.out, parts, form)
	case "baidu":
		_, err := fmt.Fprintln(pr.p.out, parts.BaiduJSON(pr.zone))
		return err
	}
	if pr.table == nil {
		if pr.table, err = newColumns(pr.p.out, append(pr.columns(), column{"FORM", 0})); err != nil {
			return err
		}
	}
	return pr.table.row(append(pr.cells(parts), string(form))...)
}

// argWords yields the words of the command line; an argument may hold several.
func argWords(args []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, arg := range args {
			words := strings.Fields(arg)
			if len(words) == 0 {
				words = []string{arg}
			}
			for _, word := range words {
				if !yield(word, nil) {
					return
				}
			}
		}
	}
}
