package suite

import (
	"context"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/measure"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/progress"
)

// ClockAlone is the row that every latency is read against: a call that does nothing.
const ClockAlone = "the clock alone"

// OfferedRate is the rate of the paced load in ids a second.
const OfferedRate = 100_000

// nothing makes no id.
type nothing struct{}

func (nothing) Run(int) error { return nil }
func (nothing) Close()        {}

// runLatency measures the distribution of a single call, in rounds.
func runLatency(ctx context.Context, c *Config) error {
	list := append([]contender.Contender{{
		Name: ClockAlone, New: func() (contender.Instance, error) { return nothing{}, nil },
	}}, c.contenders(
		contender.OneLane, contender.ManyLanes, contender.DefaultWide, "bwmarrin/snowflake",
		"sony/sonyflake 15-bit seq, 1 ms", "yitter/idgenerator-go 10-bit seq", contender.WUID,
		contender.Sno, "rs/xid", "google/uuid v7", "rival/channel",
	)...)
	full := pick(c, 20*time.Millisecond, 100*time.Millisecond)
	paced := pick(c, 100*time.Millisecond, time.Second)
	loads := []struct {
		goroutines, rounds int
		rate               float64
		d                  time.Duration
	}{
		{1, pick(c, 3, 20), 0, full},
		{4 * procs(), pick(c, 3, 10), 0, full},
		{1, pick(c, 1, 4), OfferedRate, paced},
	}
	steps := loads[0].rounds + loads[1].rounds + loads[2].rounds
	return collect(ctx, c, result.Latency, steps,
		func(bar *progress.Bar) ([]result.LatencyRow, error) {
			var rows []result.LatencyRow
			for _, l := range loads {
				part := make([]result.LatencyRow, len(list))
				for i, x := range list {
					part[i] = result.LatencyRow{Contender: x.Name, Goroutines: l.goroutines,
						Rate: l.rate}
				}
				err := rounds(ctx, bar, l.rounds, func(int) error {
					for i, x := range list {
						latencyOnce(x, l.d, &part[i])
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

// latencyOnce adds one measurement of a fresh instance to row.
func latencyOnce(x contender.Contender, d time.Duration, row *result.LatencyRow) {
	in, err := x.New()
	if err != nil {
		row.Err = err.Error()
		return
	}
	defer in.Close()
	if err := in.Run(10_000); err != nil { // warms caches and branch predictors up
		row.Err = err.Error()
		return
	}
	var h *measure.Histogram
	if row.Rate == 0 {
		h, err = measure.FullLoad(in, row.Goroutines, d)
	} else {
		h, err = measure.Paced(in, row.Goroutines, row.Rate, d)
	}
	if err != nil {
		row.Err = err.Error()
		return
	}
	row.Rounds = append(row.Rounds, result.QuantilesOf(h))
}
