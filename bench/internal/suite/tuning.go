package suite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/uid"
)

// settings returns every combination that the tuning suite measures.
func settings(quick bool) []result.TuningRow {
	boosts, paddings := []int{0, 1, 2, 3, 4, 5, 6}, []int{20, 50, 80}
	runs, lanes := []int{1, 16, 64, 256, 512, 2048}, []int{1, uid.AutoLanes}
	if quick {
		boosts, paddings, runs = []int{0, 3, 6}, []int{50}, []int{1, 64, 512}
	}
	var out []result.TuningRow
	for _, l := range lanes {
		for _, r := range runs {
			for _, p := range paddings {
				for _, b := range boosts {
					out = append(out, result.TuningRow{BoostPower: b, PaddingFactor: p, RunLength: r, Lanes: l, Goroutines: allProcs()})
				}
			}
		}
	}
	return out
}

// runTuning measures the settings in a new random order in each repetition, so that neighbours in the table are not
// neighbours in time.
func runTuning(ctx context.Context, c *Config) error {
	rows := settings(c.Quick)
	reps := pick(c, 2, 4)
	d := pick(c, 10*time.Millisecond, 50*time.Millisecond)
	return collect(ctx, c, result.Tuning, reps*len(rows), func(bar *progress.Bar) ([]result.TuningRow, error) {
		for rep := range reps {
			for _, i := range rand.Perm(len(rows)) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				r := &rows[i]
				bar.Step(fmt.Sprintf("boost %d, padding %d, run %d, lanes %d", r.BoostPower, r.PaddingFactor, r.RunLength, r.Lanes))
				if err := tuneOnce(r, rep == 0, d); err != nil {
					r.Err = err.Error()
				}
			}
		}
		return rows, nil
	})
}

// tuneOnce adds one measurement to row, and in the first repetition the latency and the memory.
func tuneOnce(row *result.TuningRow, first bool, d time.Duration) error {
	o := &uid.Options{BoostPower: row.BoostPower, PaddingFactor: row.PaddingFactor, RunLength: row.RunLength, Lanes: row.Lanes}
	if o.BoostPower == 0 {
		o.BoostPower = uid.NoBoost
	}
	start := contender.Cached(o)
	t, err := once(start, row.Goroutines, d)
	if err != nil {
		return err
	}
	row.NsPerID = append(row.NsPerID, t.NsPerID())
	if !first {
		return nil
	}
	if row.HeapBytes, err = measure.Heap(start); err != nil {
		return err
	}
	in, err := start()
	if err != nil {
		return err
	}
	defer in.Close()
	l, err := measure.FullLoad(in, row.Goroutines, 2*d)
	row.P9999, row.Max = l.Service.ValueAtQuantile(99.99), l.Service.Max()
	return err
}
