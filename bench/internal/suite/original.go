package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// The sweeps of the original's published tables.
const (
	SweepTime      = "timeBits"
	SweepWorkers   = "workerBits"
	SweepConsumers = "consumers"
)

// sweepPoint is one column of one table.
type sweepPoint struct {
	sweep      string
	x          int
	layout     bitsalloc.Layout
	goroutines int
}

// sweepPoints returns the three tables: timeBits 25..32 with workerBits 20, workerBits 20..29 with timeBits 31, and 1..8
// consumers of a 31-23-9 layout. The first two run on one goroutine per processor. The epoch is the present, so that
// 25 bits of seconds have room for what a measurement borrows.
func sweepPoints(now time.Time) []sweepPoint {
	widths := func(t, w int) bitsalloc.Layout {
		return bitsalloc.Layout{TimeBits: t, WorkerBits: w, SeqBits: 63 - t - w, Epoch: now.Truncate(time.Second)}
	}
	var out []sweepPoint
	for t := 25; t <= 32; t++ {
		out = append(out, sweepPoint{SweepTime, t, widths(t, 20), allProcs()})
	}
	for w := 20; w <= 29; w++ {
		out = append(out, sweepPoint{SweepWorkers, w, widths(31, w), allProcs()})
	}
	for n := 1; n <= 8; n++ {
		out = append(out, sweepPoint{SweepConsumers, n, widths(31, 23), n})
	}
	return out
}

func runOriginal(ctx context.Context, c *Config) error {
	points := sweepPoints(time.Now())
	if c.Quick {
		points = thin(points)
	}
	variants := []struct {
		name string
		opts uid.Options
	}{
		{contender.CachedOneLane, uid.Options{}},
		{contender.CachedManyLanes, uid.Options{Lanes: uid.AutoLanes}},
		{contender.CachedOriginal, uid.Options{RunLength: 1}},
	}
	reps := pick(c, 3, 6)
	d := pick(c, 10*time.Millisecond, 100*time.Millisecond)
	return collect(ctx, c, result.Original, reps*len(points)*len(variants), func(bar *progress.Bar) ([]result.OriginalRow, error) {
		rows := make([]result.OriginalRow, 0, len(points)*len(variants))
		for range reps {
			i := 0
			for _, p := range points {
				for _, v := range variants {
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					if i == len(rows) {
						rows = append(rows, result.OriginalRow{Sweep: p.sweep, X: p.x, Contender: v.name, Goroutines: p.goroutines,
							Layout: fmt.Sprintf("%d-%d-%d", p.layout.TimeBits, p.layout.WorkerBits, p.layout.SeqBits)})
					}
					bar.Step(fmt.Sprintf("%s %d, %s", p.sweep, p.x, v.name))
					o := v.opts
					o.Layout = p.layout
					t, err := once(contender.Cached(&o), p.goroutines, d)
					if err != nil {
						rows[i].Err = err.Error()
					} else {
						rows[i].NsPerID = append(rows[i].NsPerID, t.NsPerID())
					}
					i++
				}
			}
		}
		return rows, nil
	})
}

// thin keeps the first, the middle and the last point of each sweep.
func thin(points []sweepPoint) []sweepPoint {
	var out []sweepPoint
	for _, p := range points {
		switch {
		case p.sweep == SweepTime && (p.x == 25 || p.x == 28 || p.x == 32),
			p.sweep == SweepWorkers && (p.x == 20 || p.x == 24 || p.x == 29),
			p.sweep == SweepConsumers && (p.x == 1 || p.x == 2 || p.x == 4 || p.x == 8):
			out = append(out, p)
		}
	}
	return out
}
