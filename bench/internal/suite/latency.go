package suite

import (
	"context"
	"errors"
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
	nothing := func() (contender.Loop, func() error, error) {
		return func(int) error { return nil }, nil, nil
	}
	closed := append([]contender.Contender{{Name: ClockAlone, New: nothing}},
		contender.Pick(contender.OneLane)...)
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
	return errors.Join(
		distributions(ctx, f, "closed", closed, pick(c, 2, 20),
			func(run contender.Loop) (*measure.Histogram, error) {
				return measure.Closed(run, pick(c, 20*time.Millisecond, 100*time.Millisecond))
			}),
		distributions(ctx, f, "open", open, pick(c, 1, 5),
			func(run contender.Loop) (*measure.Histogram, error) {
				return measure.Open(run, 100_000,
					pick(c, 200*time.Millisecond, 1500*time.Millisecond))
			}))
}

// distributions adds the quantiles of a fresh generator of each contender in every round.
func distributions(ctx context.Context, f *result.File, table string, list []contender.Contender,
	n int, take func(contender.Loop) (*measure.Histogram, error)) error {
	return rounds(ctx, n, func(int) error {
		for _, x := range list {
			h, err := fresh(x.New, func(run contender.Loop) (*measure.Histogram, error) {
				if err := run(10_000); err != nil { // warms caches and branch predictors up
					return nil, err
				}
				return take(run)
			})
			for column, q := range map[string]float64{"p50": 50, "p99": 99, "p99.9": 99.9,
				"p99.99": 99.99, "longest": 100} {
				v := 0.0
				if err == nil {
					v = float64(h.ValueAtQuantile(q))
				}
				f.Add(table, x.Name, column, "ns", v, err)
			}
		}
		return nil
	})
}
