package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/segment"
)

// probe selects no row of the columns.
func (p *Patient) probe(ctx context.Context, columns, table string) error {
	text := "SELECT " + columns + " FROM " + table + " WHERE 1 = 0"
	return p.DB.WithContext(ctx).Exec(text).Error
}

// failed reports whether err is one of the failures.
func (p *Patient) failed(err error, failures ...sqldb.Failure) bool {
	db, badDB := sqlgorm.Open("doctor", p.DB, nil)
	return err != nil && badDB == nil && slices.Contains(failures, db.Failure(err))
}

// segmentsOnly reports whether the database has a segment table and neither WORKER_NODE nor
// WORKER_LEASE. A segment table is detected by a column, not just by its name.
func (p *Patient) segmentsOnly(ctx context.Context) bool {
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		if !p.failed(p.probe(ctx, "*", table), sqldb.Missing) {
			return false
		}
	}
	return p.probe(ctx, "biz_tag", "leaf_alloc") == nil ||
		p.probe(ctx, "pk_seq_name", "t_sequence") == nil || p.probe(ctx, "stub", "ticket") == nil
}

// counters checks that ranges can be fetched from a table of counters, and finds tags that have
// none or few left. It returns nothing without the table, or without the right to read it: MySQL
// does not tell such an account whether the table exists.
func (p *Patient) counters(
	table, at string, src segment.Source,
) func(context.Context) ([]Finding, error) {
	return func(ctx context.Context) ([]Finding, error) {
		if p.failed(p.probe(ctx, "*", table), sqldb.Missing, sqldb.Denied) {
			return nil, nil
		}
		counters, isBoth := src.(interface {
			segment.Checker
			segment.Lister
		})
		if !isBoth {
			return nil, fmt.Errorf("%T is not a Checker and Lister", src)
		}
		err := counters.Check(ctx)
		if errors.Is(err, sqldb.ErrUnfit) {
			return nil, nil // the checks of keys and of the server say why
		}
		if err != nil {
			return []Finding{fail(p.Text(err), "the account needs SELECT and UPDATE, the server "+
				"must not be read-only, and uid schema --dialect "+p.DB.Name()+" --table "+table+
				" prints the table as it should be")}, nil
		}
		rows, err := counters.List(ctx)
		if err != nil {
			return nil, err
		}
		found := tagFindings(rows, at)
		if found == nil {
			found = []Finding{ok("SELECT, UPDATE; %s", human.Plural(len(rows), "tag"))}
		}
		return found, nil
	}
}

// nearEnd is how many ids a counter has left when it is near its end. At a million ids a second
// they last 13 days.
const nearEnd = 1 << 40

// tagFindings returns a finding for each kind of fault in rows, which are in the order of Tag. A
// finding names the first tag with the fault and counts the others.
func tagFindings(rows []segment.Row, counter string) (found []Finding) {
	at := map[string]int{} // of the finding with this advice
	more := map[int]int{}  // by index: the tags that the finding does not name
	for _, r := range rows {
		f := tagFinding(r, counter)
		if f.Verdict == OK {
			continue
		}
		if j, ok := at[f.Advice]; ok {
			more[j]++
			continue
		}
		at[f.Advice] = len(found)
		f.Text = fmt.Sprintf("tag %q %s", r.Tag, f.Text)
		found = append(found, f)
	}
	for j, n := range more {
		found[j].Text += ", and the same of " + human.Plural(n, "other tag")
	}
	return found
}

// tagFinding returns the finding about one row. counter is what the table calls the next id.
func tagFinding(r segment.Row, counter string) Finding {
	left := math.MaxInt64 - max(0, r.Next)
	switch {
	case r.Step < 1 || r.Step > segbound.Span:
		return fail(fmt.Sprintf("has step %d, want 1..%d: it gives no range",
			r.Step, segbound.Span),
			"uid segment set TAG --step N")
	case r.Next < 0:
		return fail(fmt.Sprintf("has %s %d, want 1 or more: it gives no range", counter,
			r.Next),
			"uid segment set TAG --next N, above every id in use")
	case r.Next == 0:
		return warn("has "+counter+" 0: its first id is 0, which programs take for none",
			"uid segment set TAG --next 1")
	case left < r.Step:
		return fail(fmt.Sprintf("has %s %d: no range is left before the last int64", counter,
			r.Next),
			"let the service use another tag")
	case left < nearEnd:
		return warn(fmt.Sprintf("has %s %d: %s ids are left before the last int64", counter, r.Next,
			human.Count(left)), "let the service use another tag before the counter ends")
	}
	return Finding{Verdict: OK}
}
