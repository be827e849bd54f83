package suite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/progress"
	"github.com/uidring/uidring/uid"
)

// The defaults of BoostPower and PaddingFactor, which Stats does not tell.
const (
	defaultBoost   = 3
	defaultPadding = 50
)

// settings returns the combinations that the tuning suite measures. Lanes is as in uid.Options.
func settings(ctx context.Context, quick bool) ([]result.TuningRow, error) {
	boosts, paddings := []int{0, 1, 2, 3, 4, 5, 6}, []int{20, 50, 80}
	runs := []int{1, 64, 256, 512, 1024, 2048}
	if quick {
		boosts, paddings, runs = []int{0, 3, 6}, []int{50}, []int{1, 512, 2048}
	}
	var out []result.TuningRow
	for _, l := range []int{1, uid.AutoLanes} {
		g, err := uid.NewCached(ctx, assignertest.Static(1), &uid.Options{Lanes: l})
		if err != nil {
			return nil, err
		}
		run := g.Stats().RunLength
		_ = g.Close()
		for _, r := range runs {
			for _, p := range paddings {
				for _, b := range boosts {
					out = append(out, result.TuningRow{
						BoostPower: b, PaddingFactor: p, RunLength: r, Lanes: l,
						Default: b == defaultBoost && p == defaultPadding && r == run,
					})
				}
			}
		}
	}
	return out, nil
}

// runTuning measures the settings in a new random order in each round, so that neighbours in the
// table are not neighbours in time.
func runTuning(ctx context.Context, c *Config) error {
	rows, err := settings(ctx, c.Quick)
	if err != nil {
		return err
	}
	n := pick(c, 1, 20)
	return collect(ctx, c, result.Tuning, n*len(rows),
		func(bar *progress.Bar) ([]result.TuningRow, error) {
			return rows, rounds(ctx, nil, n, func(round int) error {
				for _, i := range rand.Perm(len(rows)) {
					r := &rows[i]
					bar.Step(fmt.Sprintf("run %d, lanes %d", r.RunLength, r.Lanes))
					if err := tuneOnce(r, round == 0); err != nil {
						r.Err = err.Error()
					}
				}
				return ctx.Err()
			})
		})
}

// tuneOnce adds one measurement to row, and in the first round the latency and the memory.
func tuneOnce(row *result.TuningRow, first bool) error {
	o := &uid.Options{BoostPower: row.BoostPower, PaddingFactor: row.PaddingFactor,
		RunLength: row.RunLength, Lanes: row.Lanes}
	if o.BoostPower == 0 {
		o.BoostPower = uid.NoBoost
	}
	start := contender.Cached(o)
	one, err := once(start, 1, contender.Short)
	if err != nil {
		return err
	}
	all, err := once(start, procs(), contender.Short)
	if err != nil {
		return err
	}
	row.One, row.All = append(row.One, one.NsPerID), append(row.All, all.NsPerID)
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
	h, err := measure.FullLoad(in, procs(), 20*time.Millisecond)
	row.P9999 = h.ValueAtQuantile(99.99)
	return err
}
