package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/result"
)

// ClockAlone is the row that every latency is read against: a call that does nothing.
const ClockAlone = "the clock alone"

// latency measures the distribution of a single call, in rounds: one after the other, and in an
// open loop.
func latency(ctx context.Context, c *Config, f *result.File) error {
	clock := contender.Contender{Name: ClockAlone,
		New: func() (contender.Loop, func(), error) {
			return func(int) error { return nil }, func() {}, nil
		}}
	closed := append([]contender.Contender{clock}, contender.Pick(contender.OneLane)...)
	open := append(closed, contender.Pick(contender.ManyLanes, contender.DefaultWide,
		contender.DefaultHash)...)
	for _, after := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		away := fmt.Sprintf(", database %d ms away", after.Milliseconds())
		open = append(open,
			contender.Contender{Name: "segment" + away, New: contender.Segment(after)},
			contender.Contender{Name: "number" + away, New: contender.Number(after)})
	}
	open = append(open, contender.Pick(contender.Bwmarrin, contender.Sony, contender.WUID,
		contender.UUID7)...)
	err := rounds(ctx, pick(c, 2, 20), func(int) error {
		for _, x := range closed {
			distribution(f, "closed", x, func(run contender.Loop) (*measure.Histogram, error) {
				return measure.Closed(run, pick(c, 20*time.Millisecond, 100*time.Millisecond))
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return rounds(ctx, pick(c, 1, 5), func(int) error {
		for _, x := range open {
			distribution(f, "open", x, func(run contender.Loop) (*measure.Histogram, error) {
				return measure.Open(run, 100_000,
					pick(c, 200*time.Millisecond, 1500*time.Millisecond))
			})
		}
		return nil
	})
}

// distribution adds the quantiles of one measurement of a fresh generator.
func distribution(f *result.File, table string, x contender.Contender,
	take func(contender.Loop) (*measure.Histogram, error)) {
	h, err := func() (*measure.Histogram, error) {
		run, stop, err := x.New()
		if err != nil {
			return nil, err
		}
		defer stop()
		if err := run(10_000); err != nil { // warms caches and branch predictors up
			return nil, err
		}
		return take(run)
	}()
	for column, q := range map[string]float64{"p50": 50, "p99": 99, "p99.9": 99.9, "p99.99": 99.99,
		"longest": 100} {
		v := 0.0
		if err == nil {
			v = float64(h.ValueAtQuantile(q))
		}
		f.Add(table, x.Name, column, "ns", v, err)
	}
}
