package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

// add adds a contender's rows: one goroutine on one processor, on two, and two on two.
func add(r *Report, name string, one, two, both float64) {
	for i, v := range []float64{one, two, both} {
		r.through.Rows = append(r.through.Rows, result.ThroughputRow{
			Contender: name, Procs: []int{1, 2, 2}[i], Goroutines: []int{1, 1, 2}[i],
			NsPerID: []float64{v, 0.9 * v, 1.1 * v, v, v},
		})
	}
}

// set changes the rows of one contender.
func set(r *Report, name string, one, two, both float64) {
	r.through.Rows = slices.DeleteFunc(r.through.Rows, func(row result.ThroughputRow) bool {
		return row.Contender == name
	})
	add(r, name, one, two, both)
}

// met returns a report in which every target is met.
func met(quick bool) *Report {
	r := &Report{charts: map[string][]byte{}}
	for _, x := range []struct {
		name           string
		one, two, both float64
	}{
		{contender.Add, 6, 6, 18}, {contender.AddCalled, 8, 8, 21}, {contender.AddStore, 8.2, 8.2, 18},
		{contender.AddOwn, 6, 6, 3}, {contender.TimeNow, 60, 60, 30}, {contender.OneLane, 7, 7, 20},
		{contender.ManyLanes, 8, 8, 4}, {contender.OneLaneWide, 7, 7, 20},
		{contender.DefaultWide, 50, 50, 90},
		{contender.Store256, 0.2, 0.2, 0.1}, {contender.Store1024, 0.2, 0.2, 0.1},
		{contender.Fill256, 0.3, 0.3, 0.3}, {contender.Fill1024, 0.25, 0.25, 0.3}, {contender.WUID, 9, 9, 40},
		{"bwmarrin/snowflake", 244, 244, 244}, {"sony/sonyflake", 39_060, 39_060, 39_060},
		{"yitter/idgenerator-go", 17_000, 17_000, 17_000}, {"yitter/idgenerator-go 10-bit seq", 80, 80, 100},
		{"rival/channel", 100, 100, 150},
	} {
		add(r, x.name, x.one, x.two, x.both)
	}
	q := result.Quantiles{P50: 50, P90: 90, P99: 99, P999: 1000, P9999: 20_000, P99999: 3_000_000,
		Max: 1_500_000_000}
	clock := q
	clock.P9999 -= 900
	r.latency.Rows = []result.LatencyRow{
		{Contender: suite.ClockAlone, Goroutines: 1, Rounds: []result.Quantiles{clock, clock, clock}},
		{Contender: contender.OneLane, Goroutines: 1, Rounds: []result.Quantiles{q, q, q}},
		{Contender: contender.OneLane, Goroutines: 8, Rounds: []result.Quantiles{q}},
		{Contender: contender.OneLane, Goroutines: 1, Rate: 1e5, Err: "too slow"},
	}
	r.unique.Rows = []result.UniqueRow{
		{Contender: contender.OneLane, IDs: 1000, Goroutines: 8},
		{Contender: contender.Sno, IDs: 1000, Goroutines: 8, Duplicates: 3},
		{Contender: contender.OneLane, IDs: 5_000_000, Goroutines: 2, Skipped: new(int)},
	}
	*r.unique.Rows[2].Skipped = 10
	r.time.Rows = []result.TimeRow{
		{Generator: "uid.Cached", Layout: "28-22-13", Rate: 1, Bound: 2, MaxLag: 1.5,
			Points: []result.TimePoint{{At: 1, Lag: 1.5}}},
		{Generator: "uid.Cached", Layout: "28-22-13", Rate: 50_000, Bound: 2, MaxLead: 50,
			Points: []result.TimePoint{{At: 1, Lead: 50}}},
	}
	r.table.Rows = []result.TableRow{
		{Key: "uid.Cached", Type: "BIGINT", Rows: 1000, Seconds: 2, Splits: 10, Server: "10",
			DataBytes: 1 << 20, IndexBytes: 1 << 20},
		{Key: "UUIDv4", Type: "CHAR(36)", Rows: 1000, Seconds: 4, Splits: 1234,
			DataBytes: 3 << 20, IndexBytes: 1 << 20},
		{Key: "UUIDv7", Type: "BINARY(16)", Err: "no server"},
	}
	r.origin.Rows = []result.OriginalRow{
		{Sweep: suite.SweepTime, X: 25, Contender: contender.OneLane, NsPerID: []float64{10}},
		{Sweep: suite.SweepConsumers, X: 1, Contender: contender.OneLane, NsPerID: []float64{20}},
	}
	for _, run := range []int{1, 512} {
		r.tuning.Rows = append(r.tuning.Rows, result.TuningRow{
			BoostPower: 3, PaddingFactor: 50, RunLength: run, Lanes: 1, Default: run == 512,
			One: []float64{40 / float64(run)}, All: []float64{30}, P9999: 100, HeapBytes: 1 << 10})
	}
	for suite, m := range map[string]*result.Meta{
		result.Throughput: &r.through.Meta, result.Unique: &r.unique.Meta, result.Latency: &r.latency.Meta,
		result.Time: &r.time.Meta, result.Table: &r.table.Meta, result.Original: &r.origin.Meta,
		result.Tuning: &r.tuning.Meta,
	} {
		*m = meta(suite, quick)
	}
	return r
}

// missed returns the targets that are missed.
func missed(r *Report) []string {
	var out []string
	for _, t := range r.Targets() {
		if t.Known && !t.Met {
			out = append(out, t.What+", "+t.Against+", "+t.Load)
		}
	}
	return out
}

func TestTargetsAreMet(t *testing.T) {
	t.Parallel()
	r := met(false)
	if m := missed(r); len(m) > 0 {
		t.Errorf("missed %q, want none", m)
	}
	for _, x := range r.Targets() {
		if !x.Known {
			t.Errorf("%q is not known, want it measured", x.What)
		}
	}
	if n := len(r.Targets()); n != 14 {
		t.Errorf("%d targets, want 14", n)
	}
}

// Each target is missed by a result that is just above its bound.
func TestEachTargetCanBeMissed(t *testing.T) {
	t.Parallel()
	pace := func(name string, one, two, both float64) func(*Report) {
		return func(r *Report) { set(r, name, one, two, both) }
	}
	quiet := func(r *Report) { // a quiet tenth of the rounds does not meet a target
		for i, row := range r.through.Rows {
			if row.Contender == contender.OneLane && row.Procs == 1 {
				r.through.Rows[i].NsPerID = []float64{6, 5.4, 8, 8, 8}
			}
		}
	}
	tail := func(r *Report) {
		for i := range r.latency.Rows[1].Rounds {
			r.latency.Rows[1].Rounds[i].P9999 += 200
		}
	}
	for _, tt := range []struct {
		want   string
		change func(*Report)
	}{
		{"`Next`, one lane, an add in the loop, 1 on 1", pace(contender.OneLane, 7.3, 7, 20)},
		{"`Next`, one lane, an add in the loop, 1 on 1", quiet},
		{"`Next`, one lane, an add in the loop, 1 on 2", pace(contender.OneLane, 7, 7.3, 20)},
		{"`Next`, one lane, edwingeng/wuid, 1 on 1", pace(contender.WUID, 6.9, 9, 40)},
		{"`Next`, one lane, edwingeng/wuid, 1 on 2", pace(contender.WUID, 9, 6.9, 40)},
		{"`Next`, many lanes, an add in the loop, 1 on 1", pace(contender.ManyLanes, 8.5, 8, 4)},
		{"`Next`, many lanes, an add in the loop, 1 on 2", pace(contender.ManyLanes, 8, 8.5, 4)},
		{"a call of `Next`, many lanes, the same alone, 2 on 2", pace(contender.ManyLanes, 8, 8, 4.3)},
		{"`Next`, one lane, a shared called add, 2 on 2", pace(contender.OneLane, 7, 7, 23.2)},
		{"`Fill` of 1,024, the store loop, 1 on 2", pace(contender.Fill1024, 0.2, 0.29, 0.3)},
		{"`Fill` of 256, the store loop, 1 on 2", pace(contender.Fill256, 0.2, 0.37, 0.3)},
		{"`uid.Default` on 31-4-28, `time.Now`, 1 on 2", pace(contender.DefaultWide, 50, 61, 90)},
		{"p99.99 of `Next`, one lane, the clock's own, 1 on 2", tail},
		{"equal ids of the library, , several goroutines", func(r *Report) { r.unique.Rows[0].Duplicates = 1 }},
		{"age of a stamp of `uid.Cached`, , every rate", func(r *Report) { r.time.Rows[0].MaxLag = 2.1 }},
	} {
		r := met(false)
		tt.change(r)
		if got := missed(r); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("missed %q, want %q", got, tt.want)
		}
		page := render(t, r)
		if !strings.Contains(page, "**missed**") || !strings.Contains(page, "Why targets are missed") {
			t.Errorf("%s: the page hides it", tt.want)
		}
	}
}

// A generator that failed meets no target that is about all of them.
func TestFailureIsNotMet(t *testing.T) {
	t.Parallel()
	r := met(false)
	r.unique.Rows[0].Err, r.time.Rows[1].Err = "failed", "failed"
	for _, x := range r.Targets()[12:] {
		if x.verdict() != "not measured" {
			t.Errorf("%s: %s, want it not measured", x.What, x.verdict())
		}
	}
}

// A round that a disturbance hit decides nothing.
func TestRatioIsTakenByRound(t *testing.T) {
	t.Parallel()
	q := ratioOf([]float64{10, 400, 12}, []float64{5, 20, 6})
	if q.median != 2 || q.p10 != 2 || q.String() != "2.00 (2.00)" {
		t.Errorf("ratio %v, want 2", q)
	}
	if q := ratioOf([]float64{10, 400}, nil); !math.IsNaN(q.median) || q.String() != "-" {
		t.Errorf("ratio to nothing %v, want none", q)
	}
}
