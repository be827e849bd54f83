package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"gorm.io/gorm"
)

type doctorCmd struct {
	dsnFlags    `embed:""`
	layoutFlags `embed:""`
	Strict      bool `help:"Fail on warnings too."`
	JSON        bool `help:"Print one JSON object."`
}

// verdict is the outcome of one check.
type verdict string

const (
	good verdict = "ok"
	warn verdict = "warn" // works, but will not for ever or not everywhere
	bad  verdict = "fail" // does not work, or lets ids collide or run out
)

// finding is one line of the doctor's report.
type finding struct {
	Check   string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"`
}

// doctorReport is what --json prints.
type doctorReport struct {
	Database string    `json:"database"`
	OK       bool      `json:"ok"` // no check failed, nor, with --strict, warned
	Findings []finding `json:"findings"`
}

// patient is what the checks look at.
type patient struct {
	p      *program
	db     *gorm.DB
	d      dsn
	layout namedLayout
}

// Run checks the database and fails if a check does. Nothing is changed, except that the embedded database gets its tables.
func (c *doctorCmd) Run(ctx context.Context, p *program) error {
	layout, err := c.layoutFlags.resolve()
	if err != nil {
		return err
	}
	r := doctorReport{OK: true}
	err = c.use(ctx, p, func(ctx context.Context, db *gorm.DB, d dsn) error {
		pt := &patient{p: p, db: db, d: d, layout: layout}
		r.Database = d.display
		r.Findings = pt.examine(ctx)
		return nil
	})
	if err != nil {
		// A database that cannot be reached is a finding as well, unless the command line is what is wrong.
		if _, ok := asUsage(err); ok {
			return err
		}
		f := finding{"connection", bad, redact(oneLine(err.Error()), p.secrets...), ""}
		if d, _ := c.dsnFlags.resolve(p); d.dialect != sqliteDialect {
			f.Advice = "check address, account and firewall; --timeout bounds the wait"
		}
		r.Findings = append(r.Findings, f)
	}
	for _, f := range r.Findings {
		if f.Verdict == bad || c.Strict && f.Verdict == warn {
			r.OK = false
		}
	}
	if c.JSON {
		err = json.NewEncoder(p.out).Encode(r)
	} else {
		err = r.print(p)
	}
	if err == nil && !r.OK {
		err = errReported
	}
	return err
}

// print writes a line per finding and, below it, what to do.
func (r *doctorReport) print(p *program) error {
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Verdict, f.Check, f.Text)
		if f.Advice != "" && f.Verdict != good {
			fmt.Fprintf(t, "\t\t-> %s\n", f.Advice)
		}
	}
	return t.Flush()
}

// examine runs the checks in order. Those that need the tables are left out when there are none.
func (pt *patient) examine(ctx context.Context) []finding {
	found := []finding{pt.connection(ctx)}
	found = append(found, pt.lifetime())
	tables, complete := pt.tables(ctx)
	found = append(found, tables...)
	found = append(found, pt.clock(ctx))
	if !complete {
		return found
	}
	found = append(found, pt.privileges(ctx)...)
	found = append(found, pt.settings(ctx)...)
	found = append(found, pt.durability(ctx)...)
	found = append(found, pt.workerIDs(ctx))
	return append(found, pt.leases(ctx)...)
}
