package suite

import (
	"database/sql"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// config runs the quick form on the contenders that only names and writes to a directory of the test's own.
func config(t *testing.T, only string) *Config {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return &Config{Quick: true, Only: regexp.MustCompile(only), Results: t.TempDir(), Command: "test", Out: null}
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

func TestThroughputSuite(t *testing.T) {
	c := config(t, "^(uid.Cached|floor/mutex)$")
	if err := runThroughput(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f, ok, err := result.Load[result.ThroughputRow](c.Results, result.Throughput)
	if err != nil || !ok {
		t.Fatalf("no results: %v", err)
	}
	if want := 2 * len(loads()); len(f.Rows) != want {
		t.Fatalf("%d rows, want %d", len(f.Rows), want)
	}
	for _, r := range f.Rows {
		if len(r.NsPerID) != 5 || slices.Min(r.NsPerID) <= 0 || r.Err != "" {
			t.Errorf("%s: %v, %q, want five measurements", r.Contender, r.NsPerID, r.Err)
		}
	}
	if !f.Meta.Quick || f.Meta.Suite != result.Throughput || f.Meta.Seconds <= 0 {
		t.Errorf("Meta = %+v", f.Meta)
	}
}

func TestUniqueSuiteFindsNoDuplicates(t *testing.T) {
	c := config(t, "^uid.Cached(, many lanes)?$")
	if err := runUnique(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f, _, err := result.Load[result.UniqueRow](c.Results, result.Unique)
	if err != nil || len(f.Rows) != 2 {
		t.Fatalf("%d rows, %v", len(f.Rows), err)
	}
	for _, r := range f.Rows {
		if r.Duplicates != 0 || r.Err != "" || r.IDs != 200_000 {
			t.Errorf("%+v, want 200,000 ids without a duplicate", r)
		}
	}
}

// Every layout of the sweeps has 63 bits, makes a generator, and stands for its place in the original's table.
func TestSweepPoints(t *testing.T) {
	t.Parallel()
	points := sweepPoints(time.Now())
	if len(points) != 8+10+8 {
		t.Fatalf("%d points, want 26", len(points))
	}
	for _, p := range points {
		l := p.layout
		if l.TimeBits+l.WorkerBits+l.SeqBits != 63 {
			t.Errorf("%s %d: widths %d-%d-%d", p.sweep, p.x, l.TimeBits, l.WorkerBits, l.SeqBits)
		}
		o := uid.Options{Layout: l}
		if l.SeqBits <= 10 { // a slot per id of a wide sequence takes a test too long to fill
			o.RunLength = 1
		}
		in, err := contender.Cached(&o)()
		if err != nil {
			t.Errorf("%s %d: %v", p.sweep, p.x, err)
			continue
		}
		if err := in.Run(1000); err != nil {
			t.Errorf("%s %d: %v", p.sweep, p.x, err)
		}
		in.Close()
	}
	if got := len(thin(points)); got != 10 {
		t.Errorf("thin keeps %d, want 10", got)
	}
}

// Every setting of the tuning suite is one that uid.NewCached takes.
func TestSettings(t *testing.T) {
	for _, quick := range []bool{true, false} {
		list := settings(quick)
		if want := map[bool]int{true: 3 * 1 * 3 * 2, false: 7 * 3 * 6 * 2}[quick]; len(list) != want {
			t.Errorf("quick %v: %d settings, want %d", quick, len(list), want)
		}
		for i := 0; i < len(list); i += 19 {
			if err := tuneOnce(&list[i], false, time.Microsecond); err != nil {
				t.Errorf("%+v: %v", list[i], err)
			}
		}
	}
}

func TestUniqueIDs(t *testing.T) {
	t.Parallel()
	const long = 10 * time.Second
	for _, tt := range []struct {
		name    string
		ceiling contender.Ceiling
		longest time.Duration
		want    int
	}{
		{"no ceiling", contender.Ceiling{}, long, 4_000_000},
		{"a ceiling that borrows", contender.PerTick(8192, time.Second, contender.Borrows), long, 4_000_000},
		{"a low ceiling", contender.PerTick(8192, time.Second, contender.Waits), long, 81_920},
		{"a high ceiling", contender.PerTick(4096, time.Millisecond, contender.Waits), long, 4_000_000},
		{"one that repeats, when there is time", contender.PerTick(1<<24, time.Second, contender.Repeats), long, 25_165_824},
		{"one that repeats, in a hurry", contender.PerTick(1<<24, time.Second, contender.Repeats), time.Second, 4_000_000},
	} {
		if got := uniqueIDs(tt.ceiling, 4_000_000, tt.longest); got != tt.want {
			t.Errorf("%s: %d ids, want %d", tt.name, got, tt.want)
		}
	}
}

// A stamp of the past lags and one of the future leads, by whole ticks less the part that has gone by.
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
			if err := o.observe(t.Context(), fixed(id)); err != nil {
				t.Fatal(err)
			}
			if now := alloc.TickAt(time.Now()); now != tick { // a tick ended meanwhile
				tick = now
				continue
			}
			break
		}
		o.flush(1)
		if r := o.row; r.MaxLag < tt.leastLag || r.MaxLag > tt.mostLag || r.MaxLead < tt.leastLead || r.MaxLead > tt.mostLeadSeconds {
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
	g, err := uid.NewCached(t.Context(), assigner.Static(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	const rows = 2 * perInsert
	c := config(t, "")
	for i, k := range keyKinds(g) {
		table := schema + ".t" + string(rune('0'+i))
		row, err := k.fill(t.Context(), db, table, rows, progress.New(c.Out, "test", 1))
		if err != nil {
			t.Fatalf("%s %s: %v", k.name, k.typ, err)
		}
		var n int
		if err := db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n); err != nil || n != rows {
			t.Errorf("%s %s: %d rows, %v, want %d", k.name, k.typ, n, err, rows)
		}
		if row.DataBytes == 0 || row.IndexBytes == 0 || row.Splits == 0 || row.Seconds <= 0 || row.BufferPool == 0 || row.Server == "" {
			t.Errorf("%s %s: %+v, want every figure", k.name, k.typ, row)
		}
	}
}
