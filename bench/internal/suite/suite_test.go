package suite

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/uidring/uidring/bench/internal/result"
)

// Every suite has a name in the result package and a function here: a quick run of the short ones.
func TestQuick(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: bench suites: make test-all runs it")
	}
	c := &Config{Quick: true, Results: t.TempDir(), Out: t.Output()}
	for _, name := range []string{"tuning", "processors"} {
		if err := c.Run(t.Context(), name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f, err := result.Load(c.Results, name)
		if err != nil || len(f.Rows) == 0 || f.Meta.Commit == "" || f.Meta.Seconds <= 0 {
			t.Errorf("%s: %d rows, %+v, %v", name, len(f.Rows), f.Meta, err)
		}
		n := len(f.Get("cost", "a transfer of a line", "ns").Values)
		if name == "processors" && procs() > 1 && n != 50 {
			t.Errorf("%d transfers, want ten in each of five rounds", n)
		}
		for _, row := range f.Rows {
			if row.Err != "" || len(row.Values) == 0 {
				t.Errorf("%s: %s, %s: %d values, %s", name, row.Name, row.Column, len(row.Values),
					row.Err)
			}
		}
	}
}

// The simulation at its ends: alone, a call takes its time; on one lane, each call of two that take
// turns waits for a transfer; on lanes of their own, processors do not wait for each other.
func TestMachine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		m    machine
		want float64 // millions of ids a second
	}{
		{machine{procs: 1, call: 2, refill: 30, transfer: 50}, 1e3 / 2.0},
		{machine{procs: 2, call: 2, refill: 30, transfer: 50}, 1e3 / 52.0},
		{machine{procs: 128, call: 2, refill: 30, transfer: 50}, 1e3 / 52.0},
		{machine{procs: 4, many: true, call: 2, refill: 0, transfer: 0}, 4 * 1e3 / 2.0},
	} {
		if got := tt.m.run(1, 100_000); math.Abs(got/tt.want-1) > 0.1 {
			t.Errorf("%+v: %.1f million a second, want %.1f", tt.m, got, tt.want)
		}
	}
	// Of many lanes the ring is the limit in the end: a refill of 512 ids moves its line and holds it.
	m := machine{procs: 128, many: true, call: 2, refill: 30, transfer: 50}
	if got, limit := m.run(1, 2_000_000), 1e3*512/80.0; math.Abs(got/limit-1) > 0.1 {
		t.Errorf("128 processors on many lanes make %.0f million a second, want %.0f", got, limit)
	}
}

// Of what go test prints, the metrics of the benchmarks become cells, in rounds.
func TestParse(t *testing.T) {
	t.Parallel()
	end := ""
	if procs() > 1 {
		end = fmt.Sprintf("-%d", procs())
	}
	f := &result.File{}
	err := parse("goos: linux\n"+
		"BenchmarkX/a_table/of__all,_31-4-28"+end+" \t 1\t 5 ns/op\t -120.0 1,000_rows-B\t 3 n\n"+
		"BenchmarkX/a_table#02/b/c_d#01"+end+" 1 5 ns/op 1.5 first_id-ns\n"+
		"BenchmarkX/a_table#02/b/c_d#01"+end+" 1 5 ns/op 2.5 first_id-ns\nPASS\n", f)
	if err != nil {
		t.Fatal(err)
	}
	if r := f.Get("a table", "of_all, 31-4-28", "1,000 rows"); r.Unit != "B" ||
		!slices.Equal(r.Values, []float64{-120}) {
		t.Errorf("bytes: %+v of %d rows", r, len(f.Rows))
	}
	if r := f.Get("a table", "of_all, 31-4-28", "n"); r.Unit != "" || len(f.Rows) != 3 {
		t.Errorf("a number: %+v of %d rows", r, len(f.Rows))
	}
	if r := f.Get("a table", "b/c d", "first id"); r.Unit != "ns" || !slices.Equal(r.Values,
		[]float64{1.5, 2.5}) {
		t.Errorf("two rounds: %+v", r)
	}
}
