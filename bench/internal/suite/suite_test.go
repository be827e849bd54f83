package suite

import (
	"context"
	"database/sql"
	"os"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// config runs the quick form on the contenders that only names and writes to a directory of the
// test's own.
func config(t *testing.T, only string) *Config {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return &Config{Quick: true, Only: regexp.MustCompile(only), Results: t.TempDir(), Command: "test", Out: null}
}

// loadRows returns what a suite saved.
func loadRows[R any](t *testing.T, c *Config, suite string) result.File[R] {
	t.Helper()
	f, ok, err := result.Load[R](c.Results, suite)
	if err != nil || !ok {
		t.Fatalf("no results: %v", err)
	}
	if !f.Meta.Quick || f.Meta.Suite != suite || f.Meta.Seconds <= 0 || f.Meta.Command != "test" {
		t.Errorf("Meta = %+v", f.Meta)
	}
	return f
}

func TestSuitesAreThoseOfTheReport(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	if want := result.Suites(); !slices.Equal(names, want) {
		t.Errorf("suites %q, want %q", names, want)
	}
}

// One goroutine runs on one processor and on all, and all processors have a goroutine each.
func TestLoads(t *testing.T) {
	t.Parallel()
	n := runtime.NumCPU()
	for _, want := range []load{{1, 1}, {n, 1}, {n, n}} {
		if !slices.Contains(loads(), want) {
			t.Errorf("loads %v lack %v", loads(), want)
		}
	}
	if got := loads(); len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("loads %v, want each once", got)
	}
}

func TestThroughputSuite(t *testing.T) {
	c := config(t, "^(uid.Cached|floor/mutex)$")
	if err := runThroughput(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f := loadRows[result.ThroughputRow](t, c, result.Throughput)
	if want := 2 * len(loads()); len(f.Rows) != want {
		t.Fatalf("%d rows, want %d", len(f.Rows), want)
	}
	for _, r := range f.Rows {
		if len(r.NsPerID) != 5 || slices.Min(r.NsPerID) <= 0 || r.Err != "" {
			t.Errorf("%s: %v, %q, want five measurements", r.Contender, r.NsPerID, r.Err)
		}
	}
}

// An instance that fails leaves no measurement: the elements of two rows would not belong together.
func TestPaceFails(t *testing.T) {
	t.Parallel()
	x := contender.Contender{Name: "x", New: func() (contender.Instance, error) { return nil, errJumped }}
	row := result.ThroughputRow{Goroutines: 1, NsPerID: []float64{1}}
	paceOnce(t.Context(), x, 1, 5, &row)
	if row.Err != errJumped.Error() || row.NsPerID != nil {
		t.Errorf("%+v, want the error and nothing else", row)
	}
}

// One goroutine on one lane skips nothing and repeats nothing.
func TestUniqueSuite(t *testing.T) {
	c := config(t, "^uid.Cached(, many lanes)?$")
	if err := runUnique(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f := loadRows[result.UniqueRow](t, c, result.Unique)
	if len(f.Rows) != 5 {
		t.Fatalf("%d rows, want two contenders and three counts of goroutines", len(f.Rows))
	}
	for i, r := range f.Rows {
		want := 200_000
		if i >= 2 {
			want = 1 << 20
		}
		if r.Duplicates != 0 || r.Err != "" || r.IDs != want || (r.Skipped != nil) != (i >= 2) {
			t.Errorf("row %d: %+v, want %d ids without a duplicate", i, r, want)
		}
		if r.Goroutines == 1 && *r.Skipped != 0 {
			t.Errorf("one goroutine skips %d ids, want none", *r.Skipped)
		}
	}
}

func TestUniqueIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		rate  contender.Rate
		quick bool
		want  int
	}{
		{"no limit", contender.Rate{}, false, 2_000_000},
		{"one that borrows", contender.Rate{PerSecond: 8192, Beyond: contender.Borrows}, false, 2_000_000},
		{"a low one", contender.Rate{PerSecond: 8192, Beyond: contender.Waits}, false, 81_920},
		{"a high one", contender.Rate{PerSecond: 4_096_000, Beyond: contender.Waits}, false, 2_000_000},
		{"one that repeats", contender.Rate{PerSecond: 1 << 24, Beyond: contender.Repeats}, false, 25_165_824},
		{"the same in a hurry", contender.Rate{PerSecond: 1 << 24, Beyond: contender.Repeats}, true, 200_000},
	} {
		if got := uniqueIDs(tt.rate, tt.quick); got != tt.want {
			t.Errorf("%s: %d ids, want %d", tt.name, got, tt.want)
		}
	}
}

// All contenders of a load have as many rounds, so that the clock's can be taken off.
func TestLatencySuite(t *testing.T) {
	c := config(t, "^uid.Cached$")
	var rows []result.LatencyRow
	for range 10 { // a machine that is busy for a moment cannot keep the offered rate
		if err := runLatency(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		rows = loadRows[result.LatencyRow](t, c, result.Latency).Rows
		if !slices.ContainsFunc(rows, func(r result.LatencyRow) bool { return r.Err != "" }) {
			break
		}
	}
	if len(rows) != 6 {
		t.Fatalf("%d rows, want the clock and one contender under three loads", len(rows))
	}
	for i := 0; i < len(rows); i += 2 {
		clock, own := rows[i], rows[i+1]
		if clock.Contender != ClockAlone || own.Contender != contender.OneLane || clock.Err+own.Err != "" {
			t.Errorf("rows %+v and %+v", clock, own)
		}
		if n := len(clock.Rounds); n == 0 || len(own.Rounds) != n || clock.Rounds[0].P50 <= 0 {
			t.Errorf("%d and %d rounds of %+v", n, len(own.Rounds), clock)
		}
	}
}

// Every layout of the sweeps has 63 bits and makes ids.
func TestSweeps(t *testing.T) {
	t.Parallel()
	rows := sweepRows(contender.OneLane, 1)
	if len(rows) != 8+10+8 {
		t.Fatalf("%d rows, want 26", len(rows))
	}
	for _, r := range rows {
		l, err := sweepLayout(r)
		if err != nil || l.TimeBits+l.WorkerBits+l.SeqBits != 63 {
			t.Errorf("%s %d: layout %s, %v", r.Sweep, r.X, r.Layout, err)
		}
		in, err := contender.Cached(&uid.Options{Layout: l})()
		if err != nil {
			t.Errorf("%s %d: %v", r.Sweep, r.X, err)
			continue
		}
		if err := in.Run(1000); err != nil {
			t.Errorf("%s %d: %v", r.Sweep, r.X, err)
		}
		in.Close()
	}
}

// Every setting of the tuning suite is one that uid.NewCached takes, and one of each number of
// lanes is the default.
func TestSettings(t *testing.T) {
	for _, quick := range []bool{true, false} {
		list, err := settings(t.Context(), quick)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 3 * 1 * 3 * 2, false: 7 * 3 * 6 * 2}[quick]; len(list) != want {
			t.Errorf("quick %v: %d settings, want %d", quick, len(list), want)
		}
		defaults := 0
		for i := range list {
			if list[i].Default {
				defaults++
			}
			if i%19 != 0 {
				continue
			}
			if err := tuneOnce(&list[i], false); err != nil {
				t.Errorf("%+v: %v", list[i], err)
			}
		}
		if !quick && defaults != 2 {
			t.Errorf("%d defaults, want one for each number of lanes", defaults)
		}
	}
}

// fixed is a generator of one id. Only Next is called.
type fixed struct {
	uid.Generator
	id uid.ID
}

func (f fixed) Next(context.Context) (uid.ID, error) { return f.id, nil }

// A stamp of the past lags and one of the future leads, by whole ticks less the part that has gone
// by.
func TestObserver(t *testing.T) {
	t.Parallel()
	alloc, err := bitsalloc.New(bitsalloc.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name                       string
		ticks                      int64
		leastLag, mostLag          float64
		leastLead, mostLeadSeconds float64
	}{
		{"the present", 0, 0, 0, 0, 0},
		{"the past", -5, 3.5, 5, 0, 0},
		{"the future", 5, 0, 0, 3.5, 5},
	} {
		o := observer{alloc: alloc, row: new(result.TimeRow), start: time.Now(), every: time.Hour}
		tick := alloc.TickAt(time.Now())
		for {
			id, err := alloc.Compose(tick+tt.ticks, 1, 1)
			if err != nil {
				t.Fatal(err)
			}
			o.now = result.TimePoint{}
			if err := o.observe(t.Context(), fixed{id: uid.ID(id)}); err != nil {
				t.Fatal(err)
			}
			if now := alloc.TickAt(time.Now()); now != tick { // a tick ended meanwhile
				tick = now
				continue
			}
			break
		}
		o.flush(1)
		if r := o.row; r.MaxLag < tt.leastLag || r.MaxLag > tt.mostLag ||
			r.MaxLead < tt.leastLead || r.MaxLead > tt.mostLeadSeconds {
			t.Errorf("%s: lag %v, lead %v", tt.name, r.MaxLag, r.MaxLead)
		}
	}
}

// Every kind of key fills a table with as many rows as it was asked to.
func TestTableFill(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t, "--innodb-monitor-enable=index_page_splits")
	db, err := sql.Open("mysql", srv.DSN(srv.CreateDB(t))+"&interpolateParams=true")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var schema string
	if err := db.QueryRow("SELECT DATABASE()").Scan(&schema); err != nil {
		t.Fatal(err)
	}
	g, err := uid.NewCached(t.Context(), assignertest.Static(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	const rows = 2 * perInsert
	for i, k := range keyKinds(g) {
		table := schema + ".t" + string(rune('0'+i))
		row, err := k.fill(t.Context(), db, table, rows, nil)
		if err != nil {
			t.Fatalf("%s %s: %v", k.name, k.typ, err)
		}
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil || n != rows {
			t.Errorf("%s %s: %d rows, %v, want %d", k.name, k.typ, n, err, rows)
		}
		if row.DataBytes == 0 || row.IndexBytes == 0 || row.Splits == 0 || row.Seconds <= 0 ||
			row.BufferPool == 0 || row.Server == "" {
			t.Errorf("%s %s: %+v, want every figure", k.name, k.typ, row)
		}
	}
}
