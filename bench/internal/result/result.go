package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// File is what a suite writes.
type File[R any] struct {
	Meta Meta
	Rows []R
}

// The suites' names, in the order of the report. A name is also the file's, before ".json".
const (
	Throughput = "throughput"
	Unique     = "unique"
	Latency    = "latency"
	Time       = "time"
	Table      = "table"
	Original   = "original"
	Tuning     = "tuning"
)

// Suites returns the names of all suites.
func Suites() []string {
	return []string{Throughput, Unique, Latency, Time, Table, Original, Tuning}
}

// ThroughputRow is one contender on so many processors and goroutines. Element i of NsPerID is from
// round i, in every row; some contenders take part in the first rounds only.
type ThroughputRow struct {
	Contender  string
	Procs      int
	Goroutines int
	NsPerID    []float64 // wall time, all goroutines together
	Allocs     float64   // per id
	Err        string    `json:",omitempty"`
}

// UniqueRow is one contender's verification. Skipped is there for one lane of uid.Cached.
type UniqueRow struct {
	Contender  string
	Goroutines int
	IDs        int
	Duplicates int
	Skipped    *int   `json:",omitempty"`
	Err        string `json:",omitempty"`
}

// LatencyRow is one contender under one load.
type LatencyRow struct {
	Contender  string
	Goroutines int
	Rate       float64     // offered ids a second; 0: as fast as it goes
	Rounds     []Quantiles // of the time of one id
	Err        string      `json:",omitempty"`
}

// Quantiles of a distribution, in nanoseconds.
type Quantiles struct{ P50, P90, P99, P999, P9999, P99999, Max int64 }

// QuantilesOf reads the quantiles off h.
func QuantilesOf(h *hdrhistogram.Histogram) Quantiles {
	return Quantiles{
		P50: h.ValueAtQuantile(50), P90: h.ValueAtQuantile(90), P99: h.ValueAtQuantile(99),
		P999: h.ValueAtQuantile(99.9), P9999: h.ValueAtQuantile(99.99),
		P99999: h.ValueAtQuantile(99.999), Max: h.Max(),
	}
}

// OriginalRow is one point of one of the tables that the original publishes.
type OriginalRow struct {
	Sweep      string // "timeBits", "workerBits" or "consumers"
	X          int    // the value swept
	Layout     string
	Contender  string
	Goroutines int
	NsPerID    []float64
	Err        string `json:",omitempty"`
}

// TuningRow is one setting of uid.Cached.
type TuningRow struct {
	BoostPower, PaddingFactor, RunLength, Lanes int

	Default   bool      // the setting is what zero Options mean, for this number of lanes
	One       []float64 // nanoseconds per id, one goroutine
	All       []float64 // the same, one goroutine per processor
	P9999     int64     // of a single Next at full load on all processors, in nanoseconds
	HeapBytes int64
	Err       string `json:",omitempty"`
}

// TimeRow is how far the ids' stamps were from the wall clock.
type TimeRow struct {
	Generator string
	Layout    string
	Rate      float64 // offered ids a second
	Seconds   float64
	IDs       int64
	Bound     float64 // MaxLag in seconds; 0: none
	MaxLag    float64 // seconds
	MaxLead   float64 // seconds
	Points    []TimePoint
	Err       string `json:",omitempty"`
}

// TimePoint is the worst of a stretch of time that ends At seconds after the start.
type TimePoint struct{ At, Lag, Lead float64 }

// TableRow is what one kind of key did to a table.
type TableRow struct {
	Key        string
	Type       string
	Rows       int
	Seconds    float64
	DataBytes  int64
	IndexBytes int64
	Splits     int64
	Server     string
	BufferPool int64
	Err        string `json:",omitempty"`
}

// Save writes f to dir, a line for each row.
func Save[R any](dir string, f File[R]) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	meta, err := json.MarshalIndent(f.Meta, "", "\t")
	if err != nil {
		return fmt.Errorf("result: %s: %w", f.Meta.Suite, err)
	}
	b := bytes.NewBufferString("{\"Meta\": " + string(meta) + ",\n\"Rows\": [")
	for i, r := range f.Rows {
		row, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("result: %s: row %d: %w", f.Meta.Suite, i, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "\n%s", row)
	}
	b.WriteString("\n]}\n")
	return os.WriteFile(filepath.Join(dir, f.Meta.Suite+".json"), b.Bytes(), 0o644)
}

// Load reads the file of a suite from dir. A file that is not there is no error: ok is false.
func Load[R any](dir, suite string) (f File[R], ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, suite+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return f, false, fmt.Errorf("result: %s: %w", suite, err)
	}
	return f, true, nil
}
