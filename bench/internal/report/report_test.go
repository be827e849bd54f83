package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
)

// meta describes a machine that there is not.
func meta(suite string, quick bool) result.Meta {
	return result.Meta{Suite: suite, Processor: "Test Processor", CPUs: 2, GOMAXPROCS: 2, GoVersion: "go1.99", Platform: "test/arch",
		Commit: "0123456789ab", Command: "the command", Date: time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC), Quick: quick, Seconds: 12,
		Modules: map[string]string{"github.com/rs/xid": "v9.8.7"}}
}

// row is a throughput row of five equal repetitions but for a little noise.
func row(name string, procs int, ns float64) result.ThroughputRow {
	return result.ThroughputRow{Contender: name, Procs: procs, Goroutines: procs,
		NsPerID: []float64{ns, ns * 1.001, ns * 0.999, ns * 1.002, ns * 0.998, ns}}
}

// throughput is a run in which every target is met.
func throughput() []result.ThroughputRow {
	return []result.ThroughputRow{
		row(contender.CachedOneLane, 1, 7), row(contender.CachedOneLane, 2, 20),
		row(contender.CachedManyLanes, 1, 8), row(contender.CachedManyLanes, 2, 4),
		row(contender.DefaultWide, 1, 60), row(contender.DefaultWide, 2, 80),
		row(contender.AtomicAdd, 1, 5), row(contender.AtomicAdd, 2, 25),
		row(contender.WUID, 1, 9), row(contender.WUID, 2, 41),
		row("bwmarrin/snowflake", 1, 244.2), row("bwmarrin/snowflake", 2, 244.3),
		row("sony/sonyflake 15-bit seq, 1 ms", 1, 71), row("sony/sonyflake 15-bit seq, 1 ms", 2, 90),
		row("rs/xid", 1, 50), row("rs/xid", 2, 30),
		row("rival/channel", 1, 100), row("rival/channel", 2, 150),
	}
}

// set changes the median of one row.
func set(rows []result.ThroughputRow, name string, procs int, ns float64) []result.ThroughputRow {
	rows = slices.Clone(rows)
	for i, r := range rows {
		if r.Contender == name && r.Procs == procs {
			rows[i] = row(name, procs, ns)
		}
	}
	return rows
}

func unique(dup int) []result.UniqueRow {
	return []result.UniqueRow{{Contender: contender.CachedOneLane, IDs: 1000, Duplicates: dup, Goroutines: 8}, {Contender: "muyo/sno", IDs: 1000, Duplicates: 3}}
}

func honest(lag float64) []result.TimeRow {
	return []result.TimeRow{
		{Generator: "uid.Cached", Layout: "28-22-13", Rate: 1, Bound: 2, MaxLag: lag, Seconds: 1, IDs: 1, Points: []result.TimePoint{{At: 1, Lag: lag}}},
		{Generator: "uid.Cached", Layout: "28-22-13", Rate: 50_000, Bound: 2, MaxLead: 50, Seconds: 1, IDs: 50_000, Points: []result.TimePoint{{At: 1, Lead: 50}}},
	}
}

// missed returns the names of the targets that were missed.
func missed(list []Target) []string {
	var out []string
	for _, t := range list {
		if t.Known && !t.Met {
			out = append(out, t.What)
		}
	}
	return out
}

func TestTargetsAreMet(t *testing.T) {
	t.Parallel()
	list := Targets(throughput(), unique(0), honest(1.5))
	if m := missed(list); len(m) > 0 {
		t.Errorf("missed %q, want none", m)
	}
	for _, x := range list {
		if !x.Known {
			t.Errorf("%q is not known, want it measured", x.What)
		}
	}
	if len(list) != 10 {
		t.Errorf("%d targets, want 10", len(list))
	}
}

// Each target is missed by a result of its own, and no other with it.
func TestEachTargetCanBeMissed(t *testing.T) {
	t.Parallel()
	all := throughput()
	for _, tt := range []struct {
		name    string
		through []result.ThroughputRow
		unique  []result.UniqueRow
		honest  []result.TimeRow
		want    string
	}{
		{"a peer with time is too fast", set(all, "sony/sonyflake 15-bit seq, 1 ms", 2, 41), unique(0), honest(1), ""},
		{"a peer with time is far too fast", set(set(all, "bwmarrin/snowflake", 2, 39), contender.WUID, 2, 60), unique(0), honest(1), "uid.Cached, many lanes against the fastest 64-bit peer whose ids carry time, 2 goroutines"},
		{"wuid is too fast", set(all, contender.WUID, 2, 39), unique(0), honest(1), "uid.Cached, many lanes against the fastest 64-bit peer, 2 goroutines"},
		{"one lane against a peer", set(all, "sony/sonyflake 15-bit seq, 1 ms", 1, 69), unique(0), honest(1), "uid.Cached against the fastest 64-bit peer whose ids carry time, 1 goroutine"},
		{"Default is too fast", set(all, contender.DefaultWide, 2, 31), unique(0), honest(1), "uid.Cached, many lanes, against uid.Default, 2 goroutines"},
		{"atomic.Add is too fast", set(all, contender.AtomicAdd, 1, 4.6), unique(0), honest(1), "one lane against an uncontended atomic.Add, 1 goroutine"},
		{"wuid beats one lane", set(all, contender.WUID, 1, 6.9), unique(0), honest(1), "one lane against edwingeng/wuid, 1 goroutine"},
		{"one lane is slower than a shared add", set(all, contender.AtomicAdd, 2, 19), unique(0), honest(1), "one lane against a shared atomic.Add, 2 goroutines"},
		{"many lanes do not scale", set(all, contender.CachedManyLanes, 1, 7.1), unique(0), honest(1), "many lanes, from 1 processor to 2"},
		{"a duplicate", all, unique(1), honest(1), "the library's own ids"},
		{"stale stamps", all, unique(0), honest(2.1), "age of uid.Cached's stamps at every rate"},
	} {
		got := missed(Targets(tt.through, tt.unique, tt.honest))
		if tt.want == "" && len(got) == 0 {
			continue
		}
		// A peer that is too fast among those with time is too fast among all.
		if len(got) == 0 || !slices.Contains(got, tt.want) || len(got) > 2 {
			t.Errorf("%s: missed %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A difference within chance does not miss a target of "no more than".
func TestChanceMissesNothing(t *testing.T) {
	t.Parallel()
	rows := throughput()
	for i, r := range rows {
		if r.Contender == contender.CachedOneLane && r.Procs == 2 {
			rows[i].NsPerID = []float64{24, 26, 25.5, 24.5, 25.2, 25.1}
		}
		if r.Contender == contender.AtomicAdd && r.Procs == 2 {
			rows[i].NsPerID = []float64{24.1, 25.9, 25.4, 24.4, 25.1, 25.0}
		}
	}
	if m := missed(Targets(rows, nil, nil)); len(m) > 0 {
		t.Errorf("missed %q, want none", m)
	}
}

// A contender without a measurement makes a target unknown, and neither met nor missed.
func TestUnknownTargets(t *testing.T) {
	t.Parallel()
	list := Targets([]result.ThroughputRow{row(contender.CachedOneLane, 1, 7), row(contender.CachedOneLane, 2, 7)}, nil, nil)
	for _, x := range list {
		if x.Known || x.Met {
			t.Errorf("%q is known, want it not measured", x.What)
		}
	}
	if text := targetTable(list); !strings.Contains(text, "not measured") || strings.Contains(text, "missed") {
		t.Errorf("table says %s", text)
	}
}

// write saves every suite's results to a new directory and returns it.
func write(t *testing.T, quick bool) string {
	t.Helper()
	dir := t.TempDir()
	q := result.Quantiles{Mean: 100, P50: 50, P90: 90, P99: 99, P999: 1000, P9999: 20_000, P99999: 3_000_000, Max: 1_500_000_000}
	lat := []result.LatencyRow{
		{Contender: contender.CachedOneLane, Goroutines: 1, IDs: 10, Service: q},
		{Contender: contender.CachedOneLane, Goroutines: 8, Rate: 5000, IDs: 10, Service: q, Response: &q},
		{Contender: contender.DefaultNarrow, Goroutines: 8, Rate: 5000, Err: "too slow"},
	}
	err := errors.Join(
		result.Save(dir, result.File[result.ThroughputRow]{Meta: meta(result.Throughput, quick), Rows: throughput()}),
		result.Save(dir, result.File[result.UniqueRow]{Meta: meta(result.Unique, quick), Rows: unique(0)}),
		result.Save(dir, result.File[result.LatencyRow]{Meta: meta(result.Offered, quick), Rows: lat[1:]}),
		result.Save(dir, result.File[result.LatencyRow]{Meta: meta(result.Latency, quick), Rows: lat}),
		result.Save(dir, result.File[result.OriginalRow]{Meta: meta(result.Original, quick), Rows: []result.OriginalRow{
			{Sweep: "timeBits", X: 25, Layout: "25-20-18", Contender: contender.CachedOneLane, NsPerID: []float64{10}},
			{Sweep: "consumers", X: 1, Layout: "31-23-9", Contender: contender.CachedOneLane, NsPerID: []float64{20}},
		}}),
		result.Save(dir, result.File[result.TuningRow]{Meta: meta(result.Tuning, quick), Rows: tunings()}),
		result.Save(dir, result.File[result.TimeRow]{Meta: meta(result.Time, quick), Rows: honest(1)}),
		result.Save(dir, result.File[result.TableRow]{Meta: meta(result.Table, quick), Rows: []result.TableRow{
			{Key: "uid.Cached", Type: "BIGINT", Rows: 1000, Seconds: 2, DataBytes: 1 << 20, IndexBytes: 1 << 20, Splits: 10, Server: "10", BufferPool: 1 << 27},
			{Key: "UUIDv4", Type: "CHAR(36)", Rows: 1000, Seconds: 4, DataBytes: 3 << 20, IndexBytes: 1 << 20, Splits: 1234},
		}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReport(t *testing.T) {
	t.Parallel()
	r, err := Load(write(t, false))
	if err != nil {
		t.Fatal(err)
	}
	page := r.Markdown()
	for _, want := range []string{
		"Measured on: Test Processor, 2 processors, GOMAXPROCS 2, go1.99, test/arch.",
		"full run of 2026-02-03 04:05 UTC, commit 0123456789ab, `the command`, 12s",
		"244 (ceiling)",             // snowflake sits at its ceiling
		"rs/xid v9.8.7",             // the version that was linked
		"250 M/s",                   // many lanes on two
		"10.2 times edwingeng/wuid", // a target's measure
		"Duplicates were found in: muyo/sno",
		"| uid.Cached | 50.0 ns | 90.0 ns | 99.0 ns | 1.00 µs | 20.0 µs | 3.00 ms | 1.50 s |",
		"Not measured: `uid.Default 28-22-13`: too slow",
		"no rival is faster",
		"2.00", // the size against the first
		"1,234",
	} {
		if !strings.Contains(squeeze(page), squeeze(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "quick run") {
		t.Error("the page speaks of a quick run")
	}
}

// squeeze makes every run of blanks one.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestReportSaysQuick(t *testing.T) {
	t.Parallel()
	r, err := Load(write(t, true))
	if err != nil {
		t.Fatal(err)
	}
	if page := r.Markdown(); !strings.Contains(page, "**Some of these results are from a quick run") {
		t.Error("the page hides that it is from a quick run")
	}
}

// Every chart that the page and the snippet show is written, is well-formed and begins with an opaque white ground.
func TestWrite(t *testing.T) {
	t.Parallel()
	r, err := Load(write(t, false))
	if err != nil {
		t.Fatal(err)
	}
	docs := t.TempDir()
	if err := r.Write(docs); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	snippet, err := os.ReadFile(filepath.Join(docs, "charts", "README-snippet.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, text := range []string{string(page), strings.ReplaceAll(string(snippet), "docs/charts/", "charts/")} {
		for _, part := range strings.Split(text, "](charts/")[1:] {
			name, _, _ := strings.Cut(part, ")")
			shown++
			checkSVG(t, filepath.Join(docs, "charts", name))
		}
	}
	if shown < 15 {
		t.Errorf("%d charts are shown, want 15 and more", shown)
	}
}

// checkSVG fails on what is no SVG on a white ground.
func checkSVG(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	for d := xml.NewDecoder(strings.NewReader(string(b))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
	}
	if !strings.Contains(string(b), `<path d="M0,0L640,0L640,`) || !strings.Contains(string(b), "fill:#FFFFFF") {
		t.Errorf("%s: no white ground over the whole width", path)
	}
	if strings.Contains(string(b), "NaN") || strings.Contains(string(b), "Inf") {
		t.Errorf("%s: a coordinate is no number", path)
	}
}

// Without any results there is a page without sections, and no error.
func TestNoResults(t *testing.T) {
	t.Parallel()
	r, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if page := r.Markdown(); strings.Contains(page, "## ") {
		t.Errorf("the page has sections: %s", page)
	}
}

func tunings() []result.TuningRow {
	return []result.TuningRow{
		{BoostPower: 0, PaddingFactor: 50, RunLength: 1, Lanes: 1, NsPerID: []float64{30}, P9999: 100, HeapBytes: 1 << 10},
		{BoostPower: 3, PaddingFactor: 50, RunLength: 512, Lanes: 1, NsPerID: []float64{10}, P9999: 300, HeapBytes: 8 << 20},
		{BoostPower: 2, PaddingFactor: 50, RunLength: 512, Lanes: 1, NsPerID: []float64{10.4}, P9999: 200, HeapBytes: 4 << 20},
		{BoostPower: 1, PaddingFactor: 50, RunLength: 512, Lanes: 1, NsPerID: []float64{10.2}, P9999: 900, HeapBytes: 1 << 20},
		{BoostPower: 4, PaddingFactor: 50, RunLength: 512, Lanes: -1, NsPerID: []float64{5}, P9999: 900, HeapBytes: 16 << 20},
	}
}

// The recommendation passes over the slow, then over the restless, and takes the smallest of the rest.
func TestRecommend(t *testing.T) {
	t.Parallel()
	var list []setting
	for _, r := range tunings()[:4] {
		list = append(list, setting{r, r.NsPerID[0]})
	}
	got := Recommend(list)
	for _, want := range []string{
		"From 10.0 ns to 30.0 ns per id over 4 settings. 3 of them are within 5 percent",
		"the smallest is BoostPower 2, PaddingFactor 50, RunLength 512: 10.4 ns per id, p99.99 200 ns, 4.00 MiB",
		"The fastest is BoostPower 3",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("Recommend = %q, want %q in it", got, want)
		}
	}
}

func TestRivalThatWins(t *testing.T) {
	t.Parallel()
	got := rivalSentence(set(throughput(), "rival/channel", 2, 3), [2]int{2, 2})
	if !strings.Contains(got, "rival/channel beats uid.Cached (3.00 ns against 20.0 ns)") || !strings.Contains(got, "uid.Cached, many lanes (3.00 ns against 4.00 ns)") {
		t.Errorf("the sentence is %q, want the winner named", got)
	}
}

func TestGrid(t *testing.T) {
	t.Parallel()
	g := grid{head: []string{"a", "µ"}}
	g.add("long text", "1")
	want := "| a         |   µ |\n| --------- | --: |\n| long text |   1 |\n"
	if got := g.String(); got != want {
		t.Errorf("grid is\n%swant\n%s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{ns(0), "-"}, {ns(5.123), "5.12 ns"}, {ns(99.96), "100 ns"}, {ns(12_340), "12.3 µs"}, {ns(2.5e6), "2.50 ms"}, {ns(3e9), "3.00 s"},
		{perSecond(25_600), "25.6 k/s"}, {perSecond(195.4e6), "195 M/s"}, {perSecond(0.98), "0.98 /s"},
		{bytesText(512), "512 B"}, {bytesText(65_536), "64.0 KiB"}, {bytesText(3 << 20), "3.00 MiB"},
		{thousands(0), "0"}, {thousands(-1234567), "-1,234,567"}, {thousands(999), "999"},
		{roundTime(100), "100 ns"}, {roundTime(1e4), "10 µs"}, {roundTime(1e6), "1 ms"}, {roundTime(1e10), "10 s"},
		{loadText([2]int{1, 1}), "1 goroutine"}, {loadText([2]int{2, 2}), "2 goroutines"}, {loadText([2]int{2, 16}), "16 on 2"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func ExampleTargets() {
	for _, t := range Targets(nil, []result.UniqueRow{{Contender: "uid.Cached", IDs: 1000}}, nil) {
		fmt.Println(t.What, "-", t.Want, "-", t.Measured, "-", t.Met)
	}
	// Output: the library's own ids - no duplicate - 0 among 1,000 - true
}
