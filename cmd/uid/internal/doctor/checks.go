package doctor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"

	"gorm.io/gorm"
)

// connection reports the version that answers, and how fast.
func (p *Patient) connection(ctx context.Context) ([]Finding, error) {
	text := "SELECT VERSION()"
	if p.DB.Name() == dsn.SQLite {
		text = "SELECT 'SQLite ' || sqlite_version()"
	}
	var version string
	begin := time.Now()
	if err := p.query(ctx, []any{&version}, text); err != nil {
		return nil, err
	}
	took := time.Since(begin).Round(10 * time.Microsecond)
	version, _, _ = strings.Cut(version, " (")
	return []Finding{ok("%s: %s, answers in %v", p.Place, human.Printable(version), took)}, nil
}

// reach reports how fast an authority lists its worker ids.
func (p *Patient) reach(ctx context.Context) ([]Finding, error) {
	begin := time.Now()
	leases, err := p.only(p.Leases(ctx))
	if err != nil {
		return nil, err
	}
	return []Finding{ok("%s: lists %s in %v", p.Place, human.Plural(len(leases), "worker id"),
		time.Since(begin).Round(100*time.Microsecond))}, nil
}

// lifetime checks how long the time bits last.
func (p *Patient) lifetime(context.Context) ([]Finding, error) {
	all, begin := p.Eras.All(), p.Layout.Layout().Epoch
	layout, end := p.Eras.String(), all[len(all)-1].Expires()
	f := ok("%s runs out at %s, in %s", layout, end.Format(time.RFC3339), human.Between(p.Now, end))
	f.Advice = `plan the layout that succeeds it in good time: "uid eras"`
	switch left := end.Sub(p.Now); {
	case left <= 0:
		f.Verdict = Fail
		f.Text = fmt.Sprintf("%s runs out at %s, %s ago", layout, end.Format(time.RFC3339),
			human.Between(p.Now, end))
	case begin.After(p.Now):
		f = fail(fmt.Sprintf("%s begins at %s, in %s", layout, begin.Format(time.RFC3339),
			human.Between(p.Now, begin)), "an epoch may not lie in the future")
	case left < human.Year:
		f.Verdict = Warn
	}
	return []Finding{f}, nil
}

// columns are the columns of each table that the library reads and writes.
var columns = map[string][]string{
	"WORKER_NODE": {"ID", "HOST_NAME", "PORT", "TYPE", "LAUNCH_DATE", "MODIFIED", "CREATED"},
	"WORKER_LEASE": {"NAMESPACE", "WORKER_ID", "GENERATION", "NONCE", "OWNER", "UNTIL_MS", "LAYOUT",
		"CREATED", "MODIFIED"},
}

// table checks with a SELECT of no row that the table has all its columns.
func (p *Patient) table(name string) func(context.Context) ([]Finding, error) {
	return func(ctx context.Context) ([]Finding, error) {
		if err := p.probe(ctx, strings.Join(columns[name], ", "), name); err != nil {
			return []Finding{fail(p.Text(err), fmt.Sprintf("uid schema --dialect %s --table %s "+
				"prints the statement that creates it", p.DB.Name(), name))}, nil
		}
		return []Finding{ok("there, with all columns")}, nil
	}
}

// privileges tries every statement that the library uses, in a form that touches no row and uses up
// no key.
func (p *Patient) privileges(table string) func(context.Context) ([]Finding, error) {
	return func(ctx context.Context) ([]Finding, error) {
		// The database makes ID.
		list := strings.Join(slices.DeleteFunc(slices.Clone(columns[table]),
			func(c string) bool { return c == "ID" }), ", ")
		text := "SELECT, INSERT"
		statements := []string{
			"INSERT INTO " + table + " (" + list + ") " +
				"SELECT " + list + " FROM " + table + " WHERE 1 = 0",
		}
		if table == "WORKER_LEASE" {
			text += ", UPDATE"
			statements = append(statements,
				"UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1 WHERE 1 = 0")
		}
		for _, s := range statements {
			if err := p.DB.WithContext(ctx).Exec(s).Error; err != nil {
				verb, _, _ := strings.Cut(s, " ")
				return []Finding{fail(p.Text(err), "the account needs "+verb+" on "+table+
					", and the server must not be read-only")}, nil
			}
		}
		return []Finding{ok("%s", text)}, nil
	}
}

// Differences between the clocks of this machine and the database.
const (
	clockWarn = time.Second
	clockFail = time.Minute
)

// clock compares the two clocks. Uniqueness does not depend on them. But the time in the ids does,
// and how early or late a lease is taken over.
func (p *Patient) clock(ctx context.Context) ([]Finding, error) {
	begin := time.Now()
	theirs, err := workerlist.Now(ctx, p.DB)
	if err != nil {
		return nil, err
	}
	trip := time.Since(begin)
	// The database read its clock at some instant within the round trip.
	diff := begin.Add(trip / 2).Sub(theirs).Round(time.Millisecond)
	uncertain := (trip/2 + time.Millisecond).Round(time.Millisecond)
	if diff.Abs() <= clockWarn {
		return []Finding{ok("this machine is within %v of the database", diff.Abs()+uncertain)}, nil
	}
	where := "ahead of"
	if diff < 0 {
		where = "behind"
	}
	f := warn(fmt.Sprintf("this machine is %v %s the database", human.Span(diff), where),
		"let NTP or chrony set both clocks")
	if diff.Abs() > clockFail {
		f.Verdict = Fail
	}
	return []Finding{f}, nil
}

// workerIDs checks how many worker ids WORKER_NODE has left, and how long they last at the faster
// of the rates of the last day and the last 30 days.
func (p *Patient) workerIDs(ctx context.Context) ([]Finding, error) {
	const day = 24 * time.Hour
	var perDay float64
	var most int64
	for _, window := range []time.Duration{day, 30 * day} {
		var recent int64
		var err error
		if most, recent, err = workerlist.Used(ctx, p.DB, window); err != nil {
			return nil, err
		}
		perDay = max(perDay, float64(recent)/window.Hours()*24)
	}
	used, err := p.lastKey(ctx)
	if err != nil {
		return nil, err
	}
	used = max(used, most)
	if used >= workertable.Raised {
		return []Finding{ok("WORKER_NODE gives out none any more: the namespace %q was moved",
			workertable.DefaultNamespace)}, nil
	}
	highest := p.Layout.MaxWorker()
	left := max(0, highest-used)
	f := ok("%s of %s left", human.Count(left), human.Count(highest))
	f.Advice = "lease worker ids (workernode.Leased) in a Namespace of your own, which counts " +
		"from 0 and uses them again, or give the worker id more bits"
	if used > highest {
		f.Text += fmt.Sprintf("; WORKER_NODE counts on from %s, beyond the layout",
			human.Count(used))
	}
	restored, since, err := p.restored(ctx)
	if err != nil {
		return nil, err
	}
	if restored > 0 {
		f.Text += fmt.Sprintf("; those up to %s count as used since \"uid workers restored\"",
			human.Count(restored))
	}
	if missing := used - restored - since; used > 100 && missing > used/2 {
		f.Text += fmt.Sprintf("; %s of the %s used have no row: keys are skipped or rows were "+
			"deleted", human.Count(missing), human.Count(used))
	}
	days := float64(left) / perDay // +Inf or NaN if there were no starts
	if perDay > 0 {
		f.Text += fmt.Sprintf("; at %s a day they last %s", human.Short(perDay),
			human.Seconds(days*day.Seconds()))
		if days < 100_000 {
			end := p.Now.Add(time.Duration(days*24) * time.Hour)
			f.Text += ", until " + end.Format(time.DateOnly)
		}
	}
	others, err := p.otherNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case left == 0 && others:
		f = warn(f.Text+"; this layout's leases are in other namespaces, which count for "+
			"themselves",
			"use neither the namespace \"default\" nor workernode.Disposable in this layout")
	case left == 0:
		f.Verdict = Fail
	case days < 365:
		f.Verdict = Warn
	}
	return []Finding{f}, nil
}

// restored returns the highest key that "uid workers restored" has written into WORKER_NODE, or 0,
// and how many rows lie above it. No row is missing below: the restore lost them.
func (p *Patient) restored(ctx context.Context) (key, since int64, err error) {
	const last = "(SELECT COALESCE(MAX(ID), 0) FROM WORKER_NODE " +
		"WHERE HOST_NAME = 'restored' AND PORT = '')"
	err = p.query(ctx, []any{&key, &since},
		"SELECT "+last+", (SELECT COUNT(*) FROM WORKER_NODE WHERE ID > "+last+")")
	return key, since, err
}

// otherNamespaces reports whether there are leases of the layout, none of them in the namespace
// that takes its worker ids from WORKER_NODE.
func (p *Patient) otherNamespaces(ctx context.Context) (bool, error) {
	leases, err := workerlist.Leases(ctx, p.DB)
	own, _, _ := strings.Cut(p.Eras.String(), ",")
	leases = slices.DeleteFunc(leases, func(l workerlist.Lease) bool {
		first, _, _ := strings.Cut(l.Layout, ",")
		return first != own
	})
	return len(leases) > 0 && !slices.ContainsFunc(leases, func(l workerlist.Lease) bool {
		return l.Namespace == workertable.DefaultNamespace
	}), err
}

// lastKey returns the last key that the database has made for WORKER_NODE, whose row may be gone.
// It is 0 if none was made or the database does not tell.
func (p *Patient) lastKey(ctx context.Context) (key int64, err error) {
	text := map[string]string{
		dsn.MySQL: "SELECT COALESCE(MAX(AUTO_INCREMENT), 1) - 1 FROM information_schema.TABLES " +
			"WHERE TABLE_SCHEMA = DATABASE() AND UPPER(TABLE_NAME) = 'WORKER_NODE'",
		dsn.Postgres: "SELECT COALESCE(MAX(last_value), 0) FROM pg_sequences " +
			"WHERE format('%I.%I', schemaname, sequencename) = " +
			"pg_get_serial_sequence('worker_node', 'id')",
		dsn.SQLite: "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence " +
			"WHERE UPPER(name) = 'WORKER_NODE'",
	}[p.DB.Name()]
	err = p.DB.WithContext(ctx).Connection(func(db *gorm.DB) error {
		if p.DB.Name() == dsn.MySQL {
			if err := db.Exec(sqldb.FreshCounters).Error; err != nil {
				return err
			}
		}
		return db.Raw(text).Row().Scan(&key)
	})
	if p.failed(err, sqldb.Missing) {
		return 0, nil // SQLite without an AUTOINCREMENT table
	}
	return key, err
}

// leases counts the leases and finds those that point to a fault.
func (p *Patient) leases(ctx context.Context) ([]Finding, error) {
	leases, err := p.only(p.Leases(ctx))
	if err != nil {
		return nil, err
	}
	highestNode := int64(math.MaxInt64) // without WORKER_NODE
	if p.DB != nil {
		var err error
		if highestNode, _, err = workerlist.Used(ctx, p.DB, 0); err != nil {
			return nil, err
		}
	}
	var held, resting, free, far, beyond int
	var highest int64
	for _, l := range leases {
		if l.Namespace == workertable.DefaultNamespace { // the others do not use WORKER_NODE
			highest = max(highest, l.Worker)
		}
		switch {
		case l.Free():
			free++
		case l.Owner == "":
			resting++ // the rest of the window has ids that were borrowed from the future
		default:
			held++
		}
		if l.Left > 366*24*time.Hour {
			far++
		}
		if most, known := highestWorker(l.Layout); known && l.Worker > most {
			beyond++
		}
	}
	text := fmt.Sprintf("%d held, %d free", held, free)
	if resting > 0 {
		text += fmt.Sprintf(", %d given back and free when their windows have passed", resting)
	}
	found := []Finding{ok("%s", text)}
	if highest > highestNode {
		found = append(found,
			fail(fmt.Sprintf("worker %d is leased and WORKER_NODE ends at %d: rows were "+
				"deleted or a backup was restored, and a worker id may be handed out twice",
				highest, highestNode),
				"before more processes connect: uid workers restored, see docs/operations.md"))
	}
	if far > 0 {
		found = append(found, warn(fmt.Sprintf("%d reserved for more than a year", far),
			"a clock that was years ahead made a claim, whose worker id is lost until then"))
	}
	if beyond > 0 {
		found = append(found, warn(fmt.Sprintf("%d have worker ids above their layout's highest",
			beyond), "no process can use them; a row was edited, or a layout changed by hand"))
	}
	return found, nil
}

// eras finds the owners of leases that do not know the newest layout of their namespace.
func (p *Patient) eras(ctx context.Context) ([]Finding, error) {
	leases, err := p.only(p.Leases(ctx))
	if err != nil {
		return nil, err
	}
	newest := map[string]string{} // by namespace
	for _, l := range leases {
		// Newest may be newer than the layout of every claim.
		for _, list := range []string{l.Layout, l.Newest} {
			if len(list) > len(newest[l.Namespace]) {
				newest[l.Namespace] = list
			}
		}
	}
	var found []Finding
	for _, l := range leases {
		cut, _, err := assigner.CompareLayouts(newest[l.Namespace], l.Layout)
		if err != nil || cut.IsZero() || l.Free() || l.Owner == "" {
			continue
		}
		f := warn(fmt.Sprintf("worker %d of namespace %q stops at %s, where a layout begins that "+
			"%s does not know",
			l.Worker, l.Namespace, cut.Format(time.RFC3339), human.Printable(l.Owner)),
			"start it again with the newest list of layouts: "+human.Printable(newest[l.Namespace]))
		if !cut.After(p.Now) {
			f.Verdict = Fail
		}
		found = append(found, f)
	}
	if found == nil {
		found = []Finding{ok("every owner of a lease knows the newest layout")}
	}
	return found, nil
}
