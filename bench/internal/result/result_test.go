package result_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/result"
)

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "results")
	want := result.File[result.ThroughputRow]{
		Meta: result.NewMeta(t.Context(), result.Throughput, "the command", true),
		Rows: []result.ThroughputRow{{Contender: "a", Procs: 2, Goroutines: 4,
			NsPerID: []float64{1.5, 2}, Allocs: 1, Err: "e"}, {Contender: "b"}},
	}
	if err := result.Save(dir, want); err != nil {
		t.Fatal(err)
	}
	got, ok, err := result.Load[result.ThroughputRow](dir, result.Throughput)
	if err != nil || !ok {
		t.Fatalf("Load: %v, %v", ok, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Load = %+v, want %+v", got, want)
	}
}

func TestLoadWithoutAFile(t *testing.T) {
	t.Parallel()
	if _, ok, err := result.Load[result.TableRow](t.TempDir(), result.Table); ok || err != nil {
		t.Errorf("Load = %v, %v, want false, nil", ok, err)
	}
}

func TestLoadNamesABrokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "table.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := result.Load[result.TableRow](dir, result.Table); err == nil ||
		!strings.Contains(err.Error(), "table") {
		t.Errorf("Load: %v, want an error that names the suite", err)
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	m := result.NewMeta(t.Context(), "s", "c", false)
	if m.Processor == "" || m.CPUs < 1 || m.GOMAXPROCS < 1 || m.Commit == "" ||
		!strings.HasPrefix(m.GoVersion, "go") && !strings.HasPrefix(m.GoVersion, "devel") {
		t.Errorf("Meta = %+v, want every field filled in", m)
	}
}

func TestQuantilesOf(t *testing.T) {
	t.Parallel()
	h := hdrhistogram.New(1, 10_000_000, 3)
	for v := int64(1); v <= 1000; v++ {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	q := result.QuantilesOf(h)
	if q.P50 != 500 || q.P90 != 900 || q.P99 != 990 || q.P999 != 999 || q.Max != 1000 {
		t.Errorf("QuantilesOf(1..1000) = %+v", q)
	}
}
