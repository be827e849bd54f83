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

// OfferedRate is the rate, in ids a second, that every contender is offered for comparison: below the ceilings of all but the
// narrowest layouts.
const OfferedRate = 100_000

// pacedRate is the rate, in ids a second, of the latency suite's paced loads: below every ceiling.
const pacedRate = 5_000

// timerFloor is the row that every latency is to be read against: two readings of the clock and nothing between them.
var timerFloor = contender.Contender{
	Name: "the two clock readings alone", Group: contender.Floor,
	New: func() (*contender.Instance, error) {
		return &contender.Instance{Run: func(int) error { return nil }, Close: func() {}}, nil
	},
}

// runOffered measures the latency of every contender at the same modest rate.
func runOffered(ctx context.Context, c *Config) error {
	list := append([]contender.Contender{timerFloor}, c.contenders()...)
	d := pick(c, 100*time.Millisecond, 3*time.Second)
	return collect(ctx, c, result.Offered, len(list), func(bar *progress.Bar) ([]result.LatencyRow, error) {
		var rows []result.LatencyRow
		for _, x := range list {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			bar.Step(x.Name)
			rows = append(rows, latencyOnce(x, 1, OfferedRate, d))
		}
		return rows, nil
	})
}

// runLatency measures the distribution for the library's own generators, the integer peers and a few of the rest.
func runLatency(ctx context.Context, c *Config) error {
	list := append([]contender.Contender{timerFloor}, c.contenders(
		contender.CachedOneLane, contender.CachedManyLanes, contender.CachedOriginal, contender.DefaultWide, contender.DefaultNarrow,
		"bwmarrin/snowflake", "sony/sonyflake", "sony/sonyflake 15-bit seq, 1 ms", "yitter/idgenerator-go 10-bit seq",
		contender.WUID, "muyo/sno", "rs/xid", "google/uuid v7", "rival/channel", "floor/mutex",
	)...)
	type point struct {
		goroutines int
		rate       float64
	}
	points := []point{{1, 0}, {4 * allProcs(), 0}, {1, pacedRate}, {4 * allProcs(), pacedRate}}
	full := pick(c, 150*time.Millisecond, 3*time.Second)
	paced := pick(c, 150*time.Millisecond, 3*time.Second)
	return collect(ctx, c, result.Latency, len(list)*len(points), func(bar *progress.Bar) ([]result.LatencyRow, error) {
		var rows []result.LatencyRow
		for _, p := range points {
			for _, x := range list {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				bar.Step(fmt.Sprintf("%s, %d goroutines", x.Name, p.goroutines))
				d := full
				if p.rate > 0 {
					d = paced
				} else if x.Ceiling.Hard() && x.Ceiling.PerSecond < slowest {
					d = max(d, 2500*time.Millisecond) // two stalls at the end of a tick
				}
				rows = append(rows, latencyOnce(x, p.goroutines, p.rate, d))
			}
		}
		return rows, nil
	})
}

// latencyOnce measures a fresh instance; rate 0 is full load.
func latencyOnce(x contender.Contender, goroutines int, rate float64, d time.Duration) result.LatencyRow {
	row := result.LatencyRow{Contender: x.Name, Procs: allProcs(), Goroutines: goroutines, Rate: rate}
	if x.Ceiling.Hard() && x.Ceiling.PerSecond < rate {
		row.Err = "offered more than the layout's ceiling of " + x.Ceiling.String()
		return row
	}
	in, err := x.New()
	if err != nil {
		row.Err = err.Error()
		return row
	}
	defer in.Close()
	if err := in.Run(1000); err != nil { // warm caches and branch predictors, and the runtime's own
		row.Err = err.Error()
		return row
	}
	var l measure.Latency
	if rate == 0 {
		l, err = measure.FullLoad(in, goroutines, d)
	} else {
		l, err = measure.Paced(in, goroutines, rate, d)
	}
	row.IDs, row.Achieved, row.Err = l.IDs, float64(l.IDs)/l.Elapsed.Seconds(), text(err)
	row.Service = result.QuantilesOf(l.Service)
	if rate > 0 {
		q := result.QuantilesOf(l.Response)
		row.Response = &q
	}
	return row
}
