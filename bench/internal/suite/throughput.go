package suite

import (
	"context"
	"math"
	"runtime"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/progress"
)

// load is a number of processors and goroutines.
type load struct{ procs, goroutines int }

// loads returns one goroutine on one processor and on all of them, then one goroutine on each of 2,
// 4, ... processors.
func loads() []load {
	list := measure.Procs()
	out := []load{{1, 1}}
	if n := list[len(list)-1]; n > 1 {
		out = append(out, load{n, 1})
	}
	for _, p := range list[1:] {
		out = append(out, load{p, p})
	}
	return out
}

// runThroughput measures all contenders under all loads in every round, so that the ratio of two
// rows can be taken round by round.
func runThroughput(ctx context.Context, c *Config) error {
	list, n := c.contenders(), pick(c, 5, 150)
	type rowType = result.ThroughputRow
	return collect(ctx, c, result.Throughput, n, func(bar *progress.Bar) ([]rowType, error) {
		var rows []rowType
		for _, x := range list {
			for _, l := range loads() {
				rows = append(rows, rowType{Contender: x.Name, Procs: l.procs,
					Goroutines: l.goroutines})
			}
		}
		err := rounds(ctx, bar, n, func(round int) error {
			runtime.GC()
			for j, l := range loads() {
				err := measure.WithProcs(l.procs, func() error {
					for i, x := range list {
						paceOnce(ctx, x, round, n, &rows[i*len(loads())+j])
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		return rows, err
	})
}

// paceOnce adds one measurement of x to row.
func paceOnce(ctx context.Context, x contender.Contender, round, n int, row *result.ThroughputRow) {
	d, times := x.Slice(n)
	if round >= times || row.Err != "" || ctx.Err() != nil {
		return
	}
	s, err := once(x.New, row.Goroutines, d)
	if err != nil {
		row.NsPerID, row.Err = nil, err.Error()
		return
	}
	row.NsPerID = append(row.NsPerID, s.NsPerID)
	row.Allocs = s.Allocs
}

// once measures the pace of a fresh instance, to a picosecond per id.
func once(start func() (contender.Instance, error), goroutines int,
	d time.Duration) (measure.Sample, error) {
	in, err := start()
	if err != nil {
		return measure.Sample{}, err
	}
	defer in.Close()
	tries := 1
	if d == contender.Short {
		tries = measure.Tries
	}
	s, err := measure.Pace(in, goroutines, d, tries)
	s.NsPerID, s.Allocs = math.Round(s.NsPerID*1000)/1000, math.Round(s.Allocs*1000)/1000
	return s, err
}
