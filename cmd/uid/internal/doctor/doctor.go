// Package doctor examines a database that worker ids come from.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/segment/sqlsource"
)

// Verdict is the outcome of a check.
type Verdict string

const (
	OK   Verdict = "ok"
	Warn Verdict = "warn" // works, but not for long or not everywhere
	Fail Verdict = "fail" // does not work, or lets ids collide or run out
)

// Finding is one line of a Report.
type Finding struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
	Advice  string  `json:"advice,omitempty"` // what to do, unless Verdict is OK
}

// ok, warn and fail return the finding of the check that is under way.
func ok(format string, args ...any) Finding {
	return Finding{Verdict: OK, Text: fmt.Sprintf(format, args...)}
}

func warn(text, advice string) Finding { return Finding{Verdict: Warn, Text: text, Advice: advice} }
func fail(text, advice string) Finding { return Finding{Verdict: Fail, Text: text, Advice: advice} }

// Report is what an examination has found.
type Report struct {
	Database string    `json:"database"`
	OK       bool      `json:"ok"` // no check failed or, if strict, warned
	Findings []Finding `json:"findings"`
}

// NewReport returns the report of findings about database.
func NewReport(database string, strict bool, findings []Finding) *Report {
	r := &Report{Database: database, OK: true, Findings: findings}
	for _, f := range findings {
		if f.Verdict == Fail || strict && f.Verdict == Warn {
			r.OK = false
		}
	}
	return r
}

// Print writes a line for each finding and, below it, what to do.
func (r *Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Verdict, f.Check, f.Text)
		if f.Advice != "" && f.Verdict != OK {
			fmt.Fprintf(t, "\t\t-> %s\n", f.Advice)
		}
	}
	return t.Flush()
}

// Patient is a database, or another authority, and what the checks need to know.
type Patient struct {
	DB     *gorm.DB
	Place  string               // where the database is, for the report
	Layout *bitsalloc.Allocator // of the first era
	Eras   *bitsalloc.Eras
	Now    time.Time
	Text   func(error) string // the text of an error, without passwords
	Peers  []Peer             // other databases to compare

	Namespace string // the only one to examine; empty: all

	// Leases returns the worker ids that are reused, of the database or of another authority.
	Leases func(context.Context) ([]workerlist.Lease, error)

	// Condition returns what the entries of an authority that is not a database are like.
	Condition func(context.Context) (lease.Condition, error)
}

// check is one check. An error that run returns is reported as a finding.
type check struct {
	name string
	run  func(context.Context) ([]Finding, error)
}

// Examine runs the checks in order. It leaves out those that need tables which are missing. A
// database that has only segment tables is examined for segments. It changes nothing.
func (p *Patient) Examine(ctx context.Context) []Finding {
	found := p.all(ctx, check{"connection", p.connection})
	lifetime := p.all(ctx, check{"layout", p.lifetime})
	tables := p.all(ctx, check{"table WORKER_NODE", p.table("WORKER_NODE")},
		check{"table WORKER_LEASE", p.table("WORKER_LEASE")})
	missing := !NewReport("", false, tables).OK
	if missing && p.segmentsOnly(ctx) {
		f := ok("no WORKER_NODE and no WORKER_LEASE: checked for segments only")
		f.Check = "tables"
		return append(append(found, f), p.all(ctx, slices.Concat(
			[]check{{"keys", p.keys}, {"replication", p.replication}, {"server", p.server}},
			p.settings("durability"),
			p.last())...)...)
	}
	found = slices.Concat(found, lifetime, tables, p.all(ctx, check{"clock", p.clock}))
	if missing {
		return found
	}
	return append(found, p.all(ctx, slices.Concat(
		[]check{
			{"keys", p.keys},
			{"replication", p.replication}, // before those that may wait for a COMMIT
			{"privileges WORKER_NODE", p.privileges("WORKER_NODE")},
			{"privileges WORKER_LEASE", p.privileges("WORKER_LEASE")},
			{"server", p.server},
		},
		p.settings(""),
		[]check{{"worker ids", p.workerIDs}, {"leases", p.leases}, {"namespaces", p.namespaces},
			{"eras", p.eras}},
		p.last())...)...)
}

// ExamineSlots runs the checks of an authority that is not a database. It changes nothing.
func (p *Patient) ExamineSlots(ctx context.Context) []Finding {
	checks := []check{{"connection", p.reach}, {"layout", p.lifetime}, {"entries", p.entries},
		{"leases", p.leases}, {"eras", p.eras}}
	if len(p.Peers) > 0 {
		checks = append(checks, check{"ranges", p.ranges})
	}
	return p.all(ctx, checks...)
}

// last returns the last checks of every examination.
func (p *Patient) last() []check {
	checks := []check{
		{"leaf_alloc", p.counters("leaf_alloc", "max_id", sqlsource.LeafAlloc(p.DB, nil))},
		{"t_sequence", p.counters("t_sequence", "next id", sqlsource.Sequence(p.DB, nil))},
		{"ticket", p.tickets},
		{"connections", p.connections},
	}
	if len(p.Peers) > 0 {
		checks = append(checks, check{"ranges", p.ranges})
	}
	return checks
}

// all runs checks.
func (p *Patient) all(ctx context.Context, checks ...check) []Finding {
	var all []Finding
	for _, c := range checks {
		if ctx.Err() != nil {
			break
		}
		found, err := c.run(ctx)
		if ctx.Err() != nil {
			found, err = []Finding{fail("no answer in time; the other checks are left out",
				"look for a server that is overloaded or a lock that is held; --timeout bounds "+
					"the wait")}, nil
		}
		if err != nil {
			found = append(found, fail(p.Text(err), ""))
		}
		for _, f := range found {
			f.Check = c.name
			all = append(all, f)
		}
	}
	return all
}

// query reads one row into dest.
func (p *Patient) query(ctx context.Context, dest []any, text string) error {
	return p.DB.WithContext(ctx).Raw(text).Row().Scan(dest...)
}
