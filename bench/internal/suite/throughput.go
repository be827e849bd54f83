package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
)

// slowest is the ceiling below which a contender is measured for longer than a tick and less often: a short
// measurement would see one tick's ids at once or none at all.
const slowest = 10_000

// load is a number of processors and goroutines.
type load struct{ procs, goroutines int }

// loads returns 1, 2, 4, ... goroutines on as many processors, and eight goroutines a processor on all of them.
func loads() []load {
	var out []load
	for _, p := range measure.Procs() {
		out = append(out, load{p, p})
	}
	last := out[len(out)-1].procs
	return append(out, load{last, 8 * last})
}

// runThroughput measures every contender in turn, and then again, as often as it takes: a disturbance of the machine hits
// all of them alike.
func runThroughput(ctx context.Context, c *Config) error {
	var (
		list  = c.contenders()
		reps  = pick(c, 5, 10)
		d     = pick(c, 10*time.Millisecond, 100*time.Millisecond)
		steps = reps * len(list) * len(loads())
	)
	return collect(ctx, c, result.Throughput, steps, func(bar *progress.Bar) ([]result.ThroughputRow, error) {
		var rows []result.ThroughputRow
		for _, l := range loads() {
			part := make([]result.ThroughputRow, len(list))
			for i, x := range list {
				part[i] = result.ThroughputRow{Contender: x.Name, Procs: l.procs, Goroutines: l.goroutines}
			}
			err := measure.WithProcs(l.procs, func() error {
				for rep := range reps {
					for i, x := range list {
						if err := ctx.Err(); err != nil {
							return err
						}
						bar.Step(fmt.Sprintf("%s on %d", x.Name, l.procs))
						throughputOnce(x, l, d, rep, &part[i])
					}
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			rows = append(rows, part...)
		}
		return rows, nil
	})
}

// throughputOnce adds one measurement of x to row.
func throughputOnce(x contender.Contender, l load, d time.Duration, rep int, row *result.ThroughputRow) {
	if x.Ceiling.Hard() && x.Ceiling.PerSecond < slowest {
		if rep > 0 {
			return
		}
		d = 2 * time.Second
	}
	t, err := once(x.New, l.goroutines, d)
	if err != nil {
		row.Err = err.Error()
		return
	}
	row.NsPerID = append(row.NsPerID, t.NsPerID())
	row.Allocs, row.Bytes = t.Allocs, t.Bytes
}

// once measures a fresh instance.
func once(start func() (*contender.Instance, error), goroutines int, d time.Duration) (measure.Throughput, error) {
	in, err := start()
	if err != nil {
		return measure.Throughput{}, err
	}
	defer in.Close()
	return measure.Run(in, goroutines, d)
}
