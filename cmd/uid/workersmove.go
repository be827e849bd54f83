package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"gorm.io/gorm"
)

// moveFlags are the flags of uid workers move.
type moveFlags struct {
	From        string `placeholder:"DSN" help:"For move: the authority that the worker ids are moved from, as in --dsn. Default: the first of the two in the environment variable UID_DSN, with a space between them. Other users of the machine see a password in the arguments, and none in UID_DSN."`
	To          string `placeholder:"DSN" help:"For move: the authority that they are moved to, which has none yet. Default: the second one in UID_DSN."`
	ToNamespace string `placeholder:"NAME" help:"For move to a database: the namespace there. Default: that of --namespace."`
}

// ends returns the two authorities that the flags name, or else UID_DSN.
func (f *moveFlags) ends(p *program) (from, to string, err error) {
	if names := strings.Fields(p.getenv("UID_DSN")); f.From == "" && f.To == "" && len(names) == 2 {
		return names[0], names[1], nil
	}
	if f.From == "" || f.To == "" {
		return "", "", usagef("--from or --to is missing, want two authorities; or both in UID_DSN")
	}
	return f.From, f.To, nil
}

// moveJSON is what move --json prints.
type moveJSON struct {
	DryRun bool      `json:"dry_run"`
	Steps  []string  `json:"steps"`
	Copied int       `json:"copied"`         // slots
	Used   int64     `json:"used"`           // worker ids that are not given out again
	Left   *int64    `json:"left,omitempty"` // worker ids that can be given out, if that is known
	Floor  time.Time `json:"floor"`
}

// move moves a universe of ids from one authority to another.
func (c *workersCmd) move(ctx context.Context, p *program) (err error) {
	if c.DSN != "" {
		return usagef("--dsn is for the other actions; want --from and --to")
	}
	fromName, toName, err := c.ends(p)
	if err != nil {
		return err
	}
	o := &lease.MoveOptions{DryRun: c.DryRun}
	if c.Layout != "" {
		n, err := c.resolveToMake()
		if err != nil {
			return err
		}
		all := n.eras.All()
		o.MaxWorker = all[len(all)-1].MaxWorker()
	}
	from, err := c.openEnd(ctx, p, "--from", fromName, c.Namespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	toNamespace := c.ToNamespace
	if toNamespace == "" {
		toNamespace = c.Namespace
	}
	to, err := c.openEnd(ctx, p, "--to", toName, toNamespace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()

	// A move may take long, and --timeout bounds how long it stands still.
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	still := time.AfterFunc(c.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer still.Stop()
	out := moveJSON{DryRun: c.DryRun, Steps: []string{}}
	if c.DryRun && !c.JSON {
		fmt.Fprintln(p.out, "a dry run: nothing is changed")
	}
	o.Report = func(line string) {
		still.Reset(c.Timeout)
		line = p.redactor.Redact(line)
		if out.Steps = append(out.Steps, line); !c.JSON {
			fmt.Fprintln(p.out, line)
		}
	}
	moved, err := lease.Move(within, from.Assigner, to.Assigner, o)
	if cause := context.Cause(within); err != nil && errors.Is(cause, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v (--timeout): %w", c.Timeout, err)
	}
	if err != nil {
		return err
	}
	if !c.JSON {
		if !c.DryRun {
			fmt.Fprintln(p.out, "done: start no process with the old address any more")
		}
		return nil
	}
	out.Copied, out.Used, out.Floor = moved.Copied, moved.Used, moved.Floor.UTC()
	if moved.Left >= 0 {
		out.Left = &moved.Left
	}
	return json.NewEncoder(p.out).Encode(out)
}

// end is one of the two authorities of a move.
type end struct {
	*lease.Assigner

	close func() error
}

// openEnd opens an authority, and makes sure that a database answers.
func (c *workersCmd) openEnd(
	ctx context.Context, p *program, flag, address, namespace string,
) (e end, err error) {
	address = strings.TrimSpace(address)
	p.redactor.Learn(address)
	if open := openerOf(address); open != nil {
		if flag == "--from" && c.Namespace != "" || flag == "--to" && c.ToNamespace != "" {
			return e, usagef("%s is no database: its address names the universe of ids, and not "+
				"--namespace or --to-namespace", flag)
		}
		a, err := open(address, lease.Options{})
		if err != nil {
			return e, usagef("%s: %w", flag, err)
		}
		return end{a, a.Close}, nil
	}
	s, err := dsn.Parse(address)
	if err != nil {
		return e, usagef("%s: %w", flag, err)
	}
	p.redactor.Secret(s.Secrets...)
	within, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	db, err := s.Open(within)
	if err != nil {
		return e, c.explain(within, s, err)
	}
	e.close = func() error { return dsn.Close(db) }
	if e.Assigner, err = rowsOf(db, s, namespace); err != nil {
		return e, errors.Join(usagef("%s: %w", flag, err), e.close())
	}
	return e, nil
}

// rowsOf returns the engine over a namespace of WORKER_LEASE.
func rowsOf(db *gorm.DB, s dsn.Source, namespace string) (*lease.Assigner, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	store, err := sqlstore.New(pool, s.Dialect, &sqlstore.Options{Namespace: namespace,
		Place: s.Place})
	if err != nil {
		return nil, err
	}
	return lease.New(store, nil)
}
