package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
)

// latency measures the distribution of a single call, in rounds: one after the other, and in an
// open loop. It is read against that of a call that does nothing.
func latency(ctx context.Context, c *Config, f *result.File) error {
	nothing := contender.Plain(func(int) error { return nil })
	closed := append([]contender.Contender{{Name: "the clock alone", New: nothing}},
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
		distributions(ctx, f, "closed", closed, pick(c, 2, 20), 0,
			pick(c, 20*time.Millisecond, 100*time.Millisecond)),
		distributions(ctx, f, "open", open, pick(c, 1, 5), 100_000,
			pick(c, 200*time.Millisecond, 1500*time.Millisecond)))
}

// distributions adds the quantiles of a fresh generator of each contender in every round.
func distributions(ctx context.Context, f *result.File, table string, list []contender.Contender,
	n, perSecond int, d time.Duration) error {
	return rounds(ctx, n, func(int) error {
		for _, x := range list {
			h := hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
			err := fresh(x.New, func(run contender.Loop) error {
				if err := run(10_000); err != nil { // warms caches and branch predictors up
					return err
				}
				return latencies(h, run, perSecond, d)
			})
			for column, q := range map[string]float64{"p50": 50, "p99": 99, "p99.9": 99.9,
				"p99.99": 99.99, "longest": 100} {
				f.Add(table, x.Name, column, "ns", float64(h.ValueAtQuantile(q)), err)
			}
		}
		return nil
	})
}

// latencies makes perSecond ids a second for about d, in an open loop: it records how long it took
// from when each id was due to when it was there. An id that has to wait because an earlier call
// was late counts as late, so nothing is omitted by coordination. For 0 it makes one id after the
// other, in a closed loop, and records how long each call took. A time of the closed loop has one
// reading of the clock in it. In the open loop the yield and the reading that find the id due may
// end later than that, and count as well.
func latencies(
	h *hdrhistogram.Histogram, run contender.Loop, perSecond int, d time.Duration,
) error {
	runtime.GC()
	start := time.Now()
	for n := 0; ; n++ {
		now := time.Since(start)
		due := now
		if perSecond > 0 {
			// It yields instead of sleeping: a timer is late by more than most ids take.
			for due = time.Duration(n) * time.Second / time.Duration(perSecond); now < due; {
				runtime.Gosched()
				now = time.Since(start)
			}
		}
		switch {
		case due >= d:
			return nil
		case now > 4*d:
			return errors.New("cannot keep the offered rate")
		}
		if err := run(1); err != nil {
			return err
		}
		// A value beyond the histogram counts as its end.
		_ = h.RecordValue(min(max(int64(time.Since(start)-due), 1), int64(time.Minute)))
	}
}
