package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// sqlServer is a server with a database of the test's own, in a session's time zone that is not UTC.
type sqlServer struct {
	dialect string
	srv     *dbtest.Server
	db      string
	explain string // a query, with the partitions that it reads
	far     string // a session in a time zone far from UTC
	text    string // formats the result of uid_time
	at      string // formats a time literal
}

// onServers runs a test on MariaDB and PostgreSQL.
func onServers(t *testing.T, test func(t *testing.T, s sqlServer)) {
	t.Helper()
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		srv, explain := dbtest.MariaDB(t), "EXPLAIN PARTITIONS "
		if os.Getenv(dbtest.OracleEnv) == "1" { // MySQL shows them without being asked
			explain = "EXPLAIN FORMAT=TRADITIONAL "
		}
		test(t, sqlServer{"mysql", srv, srv.CreateDB(t), explain, "SET time_zone = '+05:30';",
			"DATE_FORMAT(%s, '%%Y-%%m-%%d %%H:%%i:%%s.%%f')", "TIMESTAMP'%s'"})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		srv := dbtest.Postgres(t)
		test(t, sqlServer{"postgres", srv, srv.CreateDB(t), "EXPLAIN ", "SET TimeZone = 'America/New_York';",
			"TO_CHAR(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", "TIMESTAMPTZ '%s+00'"})
	})
}

// column returns the only column of a query in the far time zone.
func (s sqlServer) column(t *testing.T, query string) []string {
	t.Helper()
	return strings.Split(strings.TrimSpace(s.srv.Query(t, s.db, s.far+query)), "\n")
}

// TestInSQL: the functions answer as Parse and First do at and around every boundary, whatever the
// time zone of the session, and NULL where there is no answer.
func TestInSQL(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s sqlServer) {
		t.Run("Partitions", s.partitions)
		for _, layout := range []string{
			"28-22-13", "41-10-12/1ms@2010-11-04T01:42:54.657Z", "30-10-13", "20-20-20-3/1.5s+77",
			"28-22-13,36-14-13@2030-01-01T00:00:00.3Z,45-8-10/10ms@2031-02-03T04:05:06.789Z",
			"28-8-10,36-14-13+1000000@2030-01-01T00:00:00Z", // ids between the eras are of neither
			"62-0-1/1h", // whose time reaches beyond the year 9999
		} {
			eras, err := bitsalloc.ParseEras(layout)
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t)
			r := b.check(t, exitOK, "uid_time", "", "schema", "--functions", "--dialect", s.dialect, "--layout", layout)
			for range 2 { // the second time they exist
				s.srv.Query(t, s.db, r.stdout)
			}
			s.compare(t, eras)
		}
	})
}

// compare compares the functions with the arithmetic of eras.
func (s sqlServer) compare(t *testing.T, eras *bitsalloc.Eras) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 8))
	all := eras.All()
	ids, times := []int64{-1 << 63, -1, 0, 1}, []time.Time{earliest, latest}
	for i, a := range all {
		lo, hi, from, until := a.First(a.Layout().Epoch), a.MaxID(), a.Layout().Epoch, a.Expires()
		ids = append(ids, hi-1, hi)
		if i+1 < len(all) {
			hi, until = all[i+1].First(all[i+1].Layout().Epoch)-1, all[i+1].Layout().Epoch
			ids = append(ids, a.MaxID()+1, hi+1)
		}
		tick := int64(1) << (a.Layout().WorkerBits + a.Layout().SeqBits + a.Layout().GeneBits)
		end := a.First(latest) | (tick - 1)
		for _, id := range []int64{lo, lo + tick, hi - tick, hi, end} {
			ids = append(ids, id-1, id)
			if id < 1<<63-1 {
				ids = append(ids, id+1)
			}
		}
		for range 20 {
			ids = append(ids, lo+rnd.Int64N(hi-lo))
		}
		if until.After(latest) {
			until = latest
		}
		for _, at := range []time.Time{from, from.Add(a.Layout().Tick), until, until.Add(-a.Layout().Tick),
			a.TimeAt(a.TickAt(until))} {
			times = append(times, at.Add(-time.Microsecond), at.Truncate(time.Microsecond), at.Add(time.Microsecond))
		}
		times = append(times, from.Add(time.Duration(rnd.Int64N(int64(until.Sub(from))))).Truncate(time.Microsecond))
	}
	var asked, want []string
	for _, id := range ids {
		asked = append(asked, fmt.Sprintf("SELECT CONCAT(COALESCE("+s.text+", '-'), ' ', "+
			"COALESCE(uid_worker('%d'), -9))", fmt.Sprintf("uid_time('%d')", id), id))
		p := uid.ParseParts(eras.Of(id), uid.ID(id))
		text := p.Time.Format(microLayout)
		if p.Time.After(latest) {
			text = "-"
		}
		if id < 0 || id > eras.Of(id).MaxID() {
			text, p.Worker = "-", -9
		}
		want = append(want, fmt.Sprint(text, " ", p.Worker))
	}
	for _, at := range times {
		if at.After(latest) {
			continue
		}
		asked = append(asked, fmt.Sprintf("SELECT CONCAT(uid_first("+s.at+"))", at.UTC().Format(microLayout)))
		first, last := eras.Between(at, at.Add(1))
		if last < first { // before the epoch, or after the end
			first = eras.At(at).First(at)
		}
		want = append(want, strconv.FormatInt(first, 10))
	}
	got := s.column(t, strings.Join(asked, " UNION ALL "))
	if len(got) != len(want) {
		t.Fatalf("%s: %d answers, want %d", eras, len(got), len(want))
	}
	for i, q := range asked {
		if got[i] != want[i] {
			t.Errorf("%s: %s = %s, want %s", eras, q, got[i], want[i])
		}
	}
	if null := s.column(t, "SELECT CONCAT(COALESCE(uid_worker(NULL), -9), COALESCE(uid_first(NULL), -9), "+
		"COALESCE("+fmt.Sprintf(s.text, "uid_time(NULL)")+", '-'))"); null[0] != "-9-9-" {
		t.Errorf("%s: the functions of NULL are %s, want three NULL", eras, null)
	}
}

// TestFunctionsRefused: what has no functions is a mistake in the command line.
func TestFunctionsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for args, want := range map[string]string{
		"--functions --dialect sqlite":        "for mysql and postgres",
		"--functions --table WORKER_NODE":     "--table is for tables",
		"--layout 28-22-13":                   "are for --functions",
		"--functions --layout 40-10-10/100ns": "tick of 100ns",
		"--functions --layout nonsense":       "--layout",
	} {
		b.check(t, exitUsage, "", want, append([]string{"schema"}, strings.Fields(args)...)...)
	}
}

// partitions: the statements run, any number of times and a month later again. An id is in the partition
// of its month, and a query for the ids of a month reads that partition alone.
func (s sqlServer) partitions(t *testing.T) {
	const layout = "28-22-13,36-14-13@2026-08-15T12:00:00Z"
	eras, err := bitsalloc.ParseEras(layout)
	if err != nil {
		t.Fatal(err)
	}
	create := "CREATE TABLE orders (id BIGINT PRIMARY KEY, item VARCHAR(20))"
	if s.dialect == "postgres" {
		create += " PARTITION BY RANGE (id)"
	}
	s.srv.Query(t, s.db, create)
	b := newBench(t)
	for _, b.now = range []time.Time{b.now, b.now, b.now.AddDate(0, 1, 0)} { // June, June, July
		r := b.check(t, exitOK, "", "", "partitions", "orders", "--by", "month", "--ahead", "3",
			"--dialect", s.dialect, "--layout", layout)
		s.srv.Query(t, s.db, r.stdout)
	}
	months := []string{"p202606", "p202607", "p202608", "p202609", "p202610"}
	reads := func(name, where string) {
		t.Helper()
		plan := s.srv.Query(t, s.db, s.explain+"SELECT * FROM orders WHERE "+where)
		for _, other := range append([]string{"old", "pmax"}, months...) {
			if read := strings.Contains(plan, other); read != (other == name) {
				t.Errorf("the plan for the ids of %s reads %s: %v\n%s", name, other, read, plan)
			}
		}
	}
	for i, name := range months {
		lo, hi := eras.Month(2026, time.June+time.Month(i))
		s.srv.Query(t, s.db, fmt.Sprintf("INSERT INTO orders VALUES (%d, '%s'), (%d, '%[2]s')", lo, name, hi))
		reads(name, fmt.Sprintf("id BETWEEN %d AND %d", lo, hi))
		partition := "orders PARTITION (" + name + ")"
		if s.dialect == "postgres" {
			partition = "orders_" + name
		}
		if got := s.column(t, "SELECT DISTINCT item FROM "+partition); !slices.Equal(got, []string{name}) {
			t.Errorf("the partition %s has the rows of %q", name, got)
		}
	}
	s.srv.Query(t, s.db, "INSERT INTO orders VALUES (1, 'old')")
	r := b.check(t, exitOK, "", "", "schema", "--functions", "--dialect", s.dialect, "--layout", layout)
	s.srv.Query(t, s.db, r.stdout)
	from, to := fmt.Sprintf("uid_first("+s.at+")", "2026-07-01 00:00:00"),
		fmt.Sprintf("uid_first("+s.at+")", "2026-08-01 00:00:00")
	if s.dialect == "mysql" && os.Getenv(dbtest.OracleEnv) == "1" {
		// Unlike MariaDB, MySQL computes a function when it has its plan.
		s.explain = "SET @lo = " + from + ", @hi = " + to + "; " + s.explain
		from, to = "@lo", "@hi"
	}
	reads("p202607", "id >= "+from+" AND id < "+to)

	// A dropped partition does not come back.
	drop := "ALTER TABLE orders DROP PARTITION pold, p202606"
	if s.dialect == "postgres" {
		drop = "DROP TABLE orders_old, orders_p202606"
	}
	s.srv.Query(t, s.db, drop)
	r = b.check(t, exitOK, "", "", "partitions", "orders", "--dialect", s.dialect, "--layout", layout)
	s.srv.Query(t, s.db, r.stdout)
	plan := s.srv.Query(t, s.db, s.explain+"SELECT * FROM orders")
	if strings.Contains(plan, "old") || strings.Contains(plan, "p202606") || !strings.Contains(plan, "p202607") {
		t.Errorf("after two partitions were dropped the plan for all ids is\n%s", plan)
	}
}

// TestPartitionsText: the months of a layout end with it, and what cannot be asked for is refused.
func TestPartitionsText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Date(2034, 6, 30, 23, 0, 0, 0, time.UTC) // of the default layout, which ends in July
	r := b.check(t, exitOK, `"orders_p203407"`, "", "partitions", "orders", "--dialect", "postgres")
	if n := strings.Count(r.stdout, "CREATE TABLE"); n != 3 || !strings.Contains(r.stdout, "TO (MAXVALUE)") {
		t.Errorf("%d partitions, want those of the past, of June and of July without an end:\n%s", n, r.stdout)
	}
	r = b.check(t, exitOK, "p203406", "", "partitions", "shop.orders", "--column", "uid")
	if strings.Contains(r.stdout, "p203407") || !strings.Contains(r.stdout, "ALTER TABLE `shop`.`orders` "+
		"PARTITION BY RANGE (`uid`)") || !strings.Contains(r.stdout, "TABLE_SCHEMA = 'shop'") {
		t.Errorf("the last partitions are\n%s", r.stdout)
	}
	b.check(t, exitOK, "_p203406", "", "partitions", "shop."+strings.Repeat("o", 55), "--dialect", "postgres")
	b.now = b.now.AddDate(0, 2, 0)
	b.check(t, exitFailure, "", "has no ids in 2034-08", "partitions", "orders")
	for args, want := range map[string]string{
		"orders --ahead 121":  "--ahead is 121, want 0 to 120",
		"orders --ahead=-1":   "--ahead is -1",
		"x';DROP --ahead 1":   "the table is",
		"orders --column a`b": "--column is",
		"orders --column a.b": `--column is "a.b"`,
		"shop." + strings.Repeat("é", 28) + " --dialect postgres": "of 56 bytes, want at most 55",
		"orders --dialect sqlite":                                 "--dialect",
		"orders --by week":                                        "--by",
		"orders --layout nonsense":                                "--layout",
	} {
		b.check(t, exitUsage, "", want, append([]string{"partitions"}, strings.Fields(args)...)...)
	}
}
