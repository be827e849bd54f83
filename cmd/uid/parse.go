package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
)

type parseCmd struct {
	layoutFlags `embed:""`
	IDs         []string `arg:"" optional:"" name:"id" help:"Ids, in any text form. None, or -: read them from standard input."`
	Format      string   `short:"f" enum:"table,json,baidu" default:"table" help:"table, json (one object a line) or baidu (the original's JSON)."`
	Form        idForm   `enum:"auto,dec,base32,base62" default:"auto" help:"Text form of the ids: auto, dec, base32 or base62."`
	Zone        string   `default:"local" placeholder:"ZONE" help:"Time zone of the times shown: local, UTC or a name such as Asia/Shanghai."`
}

// Run prints every id that it can take apart and complains about the others one by one. Any of
// those fails the run.
func (c *parseCmd) Run(ctx context.Context, p *program) error {
	layout, err := c.resolve()
	if err != nil {
		return err
	}
	if layout.decode != nil && c.Format == "baidu" {
		return usagef("--layout %s has no --format baidu", layout.name)
	}
	zone, err := loadZone(c.Zone)
	if err != nil {
		return err
	}
	in := io.Reader(strings.NewReader(strings.Join(c.IDs, " ")))
	if len(c.IDs) == 0 || len(c.IDs) == 1 && c.IDs[0] == "-" {
		in = p.stdin
		if isTerminal(p.stdin) {
			fmt.Fprintln(p.stderr, "uid: reading ids from the terminal; end with Ctrl-D")
		}
	} else if strings.TrimSpace(strings.Join(c.IDs, "")) == "" {
		return usagef("the id is empty")
	}
	pr := printer{w: p.out, layout: layout, zone: zone, now: p.now, format: c.Format}
	words, readErr := readWords(ctx, in)
	failed := false
	for {
		if len(words) == 0 {
			// When ids are typed or piped one by one, each line appears at once.
			if err := p.out.Flush(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case word, ok := <-words:
			if !ok && *readErr != nil {
				return fmt.Errorf("reading ids: %w", *readErr)
			}
			if !ok && failed {
				return errReported
			}
			if !ok {
				return nil
			}
			err := c.print(p, &pr, word)
			if errors.As(err, new(badIDError)) {
				failed = true
				p.out.Flush() // so that on a terminal the complaint stands where the id would
				var r dsn.Redactor
				r.Learn(word) // which may be a data source name, by mistake
				p.complain(errors.New(r.Redact(err.Error())))
			} else if err != nil {
				return err
			}
		}
	}
}

// badIDError is the error of a word that is not an id of the layout.
type badIDError struct{ error }

// print takes one word apart and prints it. A badIDError leaves the output as it was.
func (c *parseCmd) print(p *program, pr *printer, word string) error {
	id, form, also, err := parseID(word, c.Form, pr.layout.decode != nil)
	if err != nil {
		return badIDError{err}
	}
	parts, err := pr.layout.parts(id)
	if err != nil {
		return badIDError{fmt.Errorf("bad id: %s %w", id, err)}
	}
	// A text of 11 characters may be Base58 as well, if it has none of the four that Base58 leaves
	// out. As Base62 it is then about twice the id, whose time is to come.
	if c.Form == autoForm && form == base62Form && !strings.ContainsAny(word, "0OIl") &&
		parts.Time.After(pr.now().Add(24*time.Hour)) {
		return badIDError{fmt.Errorf("bad id: %q as Base62 is an id of %s, which is to come: is "+
			"it Base58? --form base62 reads it as Base62", word,
			parts.Time.UTC().Format(time.DateOnly))}
	}
	if also != "" {
		fmt.Fprintf(p.stderr,
			"uid: note: %q is read as a decimal number; --form %s reads it as %s\n",
			word, also, also)
	}
	return pr.print(parts, form)
}

// readWords reads the words of r, which may be a terminal, or a pipe to which another process still
// writes. A goroutine reads ahead, because a read from a terminal ignores contexts. It sets the
// error before it closes the channel. It ends with the input or, within one more word, with the
// context. A read that never returns ends with the process.
func readWords(ctx context.Context, r io.Reader) (<-chan string, *error) {
	words, err := make(chan string, 1024), new(error)
	go func() {
		defer close(words)
		s := bufio.NewScanner(r)
		s.Split(bufio.ScanWords)
		for s.Scan() {
			select {
			case words <- s.Text():
			case <-ctx.Done():
				return
			}
		}
		*err = s.Err()
	}()
	return words, err
}
