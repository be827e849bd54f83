package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/progress"
	"github.com/uidring/uidring/uid"
)

// The sweeps of the tables that the original publishes.
const (
	SweepTime      = "timeBits"
	SweepWorkers   = "workerBits"
	SweepConsumers = "consumers"
)

// sweepRows returns a row for each column of the three tables: timeBits 25..32 with workerBits 20,
// workerBits 20..29 with timeBits 31, and 1..8 consumers of a 31-23-9 layout. The first two run on
// one goroutine per processor. step picks every step-th column.
func sweepRows(name string, step int) []result.OriginalRow {
	var out []result.OriginalRow
	add := func(sweep string, x, timeBits, workerBits, goroutines int) {
		out = append(out, result.OriginalRow{Sweep: sweep, X: x, Contender: name,
			Layout:     fmt.Sprintf("%d-%d-%d", timeBits, workerBits, 63-timeBits-workerBits),
			Goroutines: goroutines})
	}
	for t := 25; t <= 32; t += step {
		add(SweepTime, t, t, 20, procs())
	}
	for w := 20; w <= 29; w += step {
		add(SweepWorkers, w, 31, w, procs())
	}
	for n := 1; n <= 8; n += step {
		add(SweepConsumers, n, 31, 23, n)
	}
	return out
}

// sweepLayout returns the layout of a row. The epoch is now, so that 25 bits of seconds
// have room for what a measurement borrows.
func sweepLayout(r result.OriginalRow) (l bitsalloc.Layout, err error) {
	_, err = fmt.Sscanf(r.Layout, "%d-%d-%d", &l.TimeBits, &l.WorkerBits, &l.SeqBits)
	l.Epoch = time.Now().Truncate(time.Second)
	return l, err
}

func runOriginal(ctx context.Context, c *Config) error {
	step, n, d := pick(c, 3, 1), pick(c, 2, 6), pick(c, 5*time.Millisecond, 50*time.Millisecond)
	rows := append(sweepRows(contender.OneLane, step), sweepRows(contender.ManyLanes, step)...)
	return collect(ctx, c, result.Original, n,
		func(bar *progress.Bar) ([]result.OriginalRow, error) {
			return rows, rounds(ctx, bar, n, func(int) error {
				for i := range rows {
					r := &rows[i]
					l, err := sweepLayout(*r)
					if err != nil {
						return err
					}
					o := &uid.Options{Layout: l}
					if r.Contender == contender.ManyLanes {
						o.Lanes = uid.AutoLanes
					}
					s, err := once(contender.Cached(o), r.Goroutines, d)
					if err != nil {
						r.Err = err.Error()
					} else {
						r.NsPerID = append(r.NsPerID, s.NsPerID)
					}
				}
				return nil
			})
		})
}
