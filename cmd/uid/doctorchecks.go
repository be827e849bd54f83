package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
)

// query reads one row into dest.
func (pt *patient) query(ctx context.Context, dest []any, text string, args ...any) error {
	return pt.db.WithContext(ctx).Raw(text, args...).Row().Scan(dest...)
}

// failed is the finding of a check that could not be made.
func (pt *patient) failed(check string, err error) finding {
	return finding{check, bad, redact(oneLine(err.Error()), pt.p.secrets...), ""}
}

// connection says what answers, and how fast.
func (pt *patient) connection(ctx context.Context) finding {
	const check = "connection"
	text := "SELECT VERSION()"
	if pt.d.dialect == sqliteDialect {
		text = "SELECT 'SQLite ' || sqlite_version()"
	}
	var version string
	begin := time.Now()
	if err := pt.query(ctx, []any{&version}, text); err != nil {
		return pt.failed(check, err)
	}
	took := time.Since(begin)
	version, _, _ = strings.Cut(version, " (")
	return finding{check, good, fmt.Sprintf("%s: %s, answers in %v", pt.d.display, printable(version), took.Round(10*time.Microsecond)), ""}
}

// lifetime says how long the time bits last.
func (pt *patient) lifetime() finding {
	const check = "layout"
	alloc, now := pt.layout.alloc, pt.p.now()
	end := alloc.Expires()
	text := fmt.Sprintf("%s runs out at %s", alloc.Layout(), end.Format(time.RFC3339))
	const advice = `plan another layout or a later epoch in good time: "uid plan"`
	switch left := end.Sub(now); {
	case left <= 0:
		return finding{check, bad, text + ", " + between(end, now) + " ago", advice}
	case alloc.Layout().Epoch.After(now):
		return finding{check, bad, fmt.Sprintf("%s begins at %s, in %s", alloc.Layout(), alloc.Layout().Epoch.Format(time.RFC3339), between(now, alloc.Layout().Epoch)), "an epoch may not lie in the future"}
	case left < year:
		return finding{check, warn, text + ", in " + between(now, end), advice}
	}
	return finding{check, good, text + ", in " + between(now, end), ""}
}

// tableColumns are the columns that the library reads and writes.
func tableColumns(table string) []string {
	if table == "WORKER_NODE" {
		return []string{"ID", "HOST_NAME", "PORT", "TYPE", "LAUNCH_DATE", "MODIFIED", "CREATED"}
	}
	return []string{"NAMESPACE", "WORKER_ID", "GENERATION", "NONCE", "OWNER", "UNTIL_MS", "LAYOUT", "CREATED", "MODIFIED"}
}

// tables says whether the tables are there with all their columns, which a SELECT of nothing shows.
func (pt *patient) tables(ctx context.Context) (found []finding, complete bool) {
	complete = true
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		if err := pt.selectNothing(ctx, table); err != nil {
			f := pt.failed("table "+table, err)
			f.Advice = fmt.Sprintf("uid schema --dialect %s --table %s prints the statement that creates it", pt.d.dialect, table)
			found, complete = append(found, f), false
			continue
		}
		found = append(found, finding{"table " + table, good, "there, with all columns", ""})
	}
	return found, complete
}

// selectNothing asks for all columns of no row.
func (pt *patient) selectNothing(ctx context.Context, table string) error {
	rows, err := pt.db.WithContext(ctx).Raw("SELECT " + strings.Join(tableColumns(table), ", ") + " FROM " + table + " WHERE 1 = 0").Rows()
	if err != nil {
		return err
	}
	defer rows.Close()
	return rows.Err()
}

// privileges tries every statement that the library uses, in a form that touches no row and uses up no key.
func (pt *patient) privileges(ctx context.Context) []finding {
	var found []finding
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		columns := tableColumns(table)
		if table == "WORKER_NODE" {
			columns = columns[1:] // ID is the database's to set
		}
		list := strings.Join(columns, ", ")
		statements := []string{"INSERT INTO " + table + " (" + list + ") SELECT " + list + " FROM " + table + " WHERE 1 = 0"}
		if table == "WORKER_LEASE" {
			statements = append(statements, "UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1 WHERE 1 = 0")
		}
		f := finding{"privileges " + table, good, "SELECT, INSERT", ""}
		if len(statements) > 1 {
			f.Text += ", UPDATE"
		}
		for _, s := range statements {
			if err := pt.db.WithContext(ctx).Exec(s).Error; err != nil {
				verb, _, _ := strings.Cut(s, " ")
				f = pt.failed(f.Check, err)
				f.Advice = "the account needs " + verb + " on " + table + ", and the server must not be read-only"
				break
			}
		}
		found = append(found, f)
	}
	return found
}

// Differences between the clocks of this machine and the database.
const (
	clockWarn = time.Second
	clockFail = time.Minute
)

// clock compares the two clocks. Uniqueness does not depend on them; leases that are taken over too late or too early do,
// and so does the time in the ids.
func (pt *patient) clock(ctx context.Context) finding {
	const check = "clock"
	begin := time.Now()
	theirs, err := workernode.Now(ctx, pt.db)
	if err != nil {
		return pt.failed(check, err)
	}
	trip := time.Since(begin)
	// The database read its clock somewhere within the round trip.
	diff := begin.Add(trip / 2).Sub(theirs).Round(time.Millisecond)
	uncertain := (trip/2 + time.Millisecond).Round(time.Millisecond)
	f := finding{check, good, fmt.Sprintf("this machine is within %v of the database", diff.Abs()+uncertain),
		"let NTP or chrony set both clocks"}
	where := "ahead of"
	if diff < 0 {
		where = "behind"
	}
	if diff.Abs() > clockWarn {
		f.Verdict, f.Text = warn, fmt.Sprintf("this machine is %v %s the database", span(diff), where)
	}
	if diff.Abs() > clockFail {
		f.Verdict = bad
	}
	return f
}

// workerIDs says how many worker ids are left in WORKER_NODE and how long they last at the faster of the rates of the last
// day and the last 30 days.
func (pt *patient) workerIDs(ctx context.Context) finding {
	const check, day = "worker ids", 24 * time.Hour
	var perDay float64
	var u workernode.Usage
	for _, window := range []time.Duration{day, 30 * day} {
		var err error
		if u, err = workernode.Used(ctx, pt.db, window); err != nil {
			return pt.failed(check, err)
		}
		perDay = max(perDay, float64(u.Recent)/window.Hours()*24)
	}
	highest := pt.layout.alloc.MaxWorker()
	left := max(0, highest-u.Highest)
	f := finding{check, good, fmt.Sprintf("%s of %s left", grouped(left), grouped(highest)),
		"lease worker ids (workernode.Leased), which uses them again, or give the worker id more bits"}
	if u.Rows < u.Highest && u.Highest > 100 && float64(u.Rows) < 0.5*float64(u.Highest) {
		f.Text += fmt.Sprintf("; %s of the %s used have no row: keys are skipped or rows were deleted", grouped(u.Highest-u.Rows), grouped(u.Highest))
	}
	if perDay == 0 {
		if left == 0 {
			f.Verdict = bad
		}
		return f
	}
	days := float64(left) / perDay
	f.Text += fmt.Sprintf("; at %s a day they last %s", short(perDay), years(days/365.25))
	if days < 100_000 {
		f.Text += ", until " + pt.p.now().Add(time.Duration(days*24)*time.Hour).Format(time.DateOnly)
	}
	switch {
	case left == 0:
		f.Verdict = bad
	case days < 365:
		f.Verdict = warn
	}
	return f
}

// leases counts the leases and finds those that stand in the way.
func (pt *patient) leases(ctx context.Context) []finding {
	const check = "leases"
	leases, err := workernode.Leases(ctx, pt.db)
	if err != nil {
		return []finding{pt.failed(check, err)}
	}
	var held, resting, free, far, beyond int
	for _, l := range leases {
		switch {
		case l.Free():
			free++
		case l.Owner == "":
			resting++ // ids that borrowed from the future lie in the rest of the window
		default:
			held++
		}
		if l.Left > 366*24*time.Hour {
			far++
		}
		if l.Worker > pt.layout.alloc.MaxWorker() {
			beyond++
		}
	}
	text := fmt.Sprintf("%d held, %d free", held, free)
	if resting > 0 {
		text += fmt.Sprintf(", %d given back and free when their windows have passed", resting)
	}
	found := []finding{{check, good, text, ""}}
	if far > 0 {
		found = append(found, finding{check, warn, fmt.Sprintf("%d reserved for more than a year", far),
			"a claim was made by a clock that was years ahead; its worker id is lost until then"})
	}
	if beyond > 0 {
		found = append(found, finding{check, warn, fmt.Sprintf("%d have worker ids above the layout's highest, %d", beyond, pt.layout.alloc.MaxWorker()),
			"they belong to another layout; --layout names the one to check"})
	}
	return found
}
