package measure

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/contender"
)

// Histogram is a distribution of times in nanoseconds.
type Histogram = hdrhistogram.Histogram

// FullLoad calls for one id after the other for about d and returns how long each call took, with
// one reading of the clock in it.
func FullLoad(in contender.Instance, goroutines int, d time.Duration) (*Histogram, error) {
	return latency(goroutines, func(_ int, start time.Time, h *Histogram) error {
		for now := time.Since(start); now < d; {
			before := time.Since(start)
			if err := in.Run(1); err != nil {
				return err
			}
			now = time.Since(start)
			record(h, now-before)
		}
		return nil
	})
}

// Paced calls for perSecond ids a second, evenly spread over the goroutines, for about d. It
// returns how long it took from when each id was due to when it was there: an id that has to wait
// because an earlier call was late counts as late (no coordinated omission).
func Paced(in contender.Instance, goroutines int, perSecond float64,
	d time.Duration) (*Histogram, error) {
	gap := time.Duration(float64(goroutines) / perSecond * float64(time.Second))
	return latency(goroutines, func(g int, start time.Time, h *Histogram) error {
		due := gap * time.Duration(g) / time.Duration(goroutines)
		for ; due < d; due += gap {
			if await(start, due) > 4*d {
				return errLate
			}
			if err := in.Run(1); err != nil {
				return err
			}
			record(h, time.Since(start)-due)
		}
		return nil
	})
}

// errLate ends a paced run that cannot keep its pace.
var errLate = errors.New("measure: cannot keep the offered rate")

// await returns when due has come, with the time since start. It yields instead of sleeping: a
// timer is late by more than most ids take.
func await(start time.Time, due time.Duration) time.Duration {
	now := time.Since(start)
	for ; now < due; now = time.Since(start) {
		runtime.Gosched()
	}
	return now
}

// record adds one value. A value beyond the histogram counts as its end.
func record(h *Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Nanoseconds(), 1), time.Minute.Nanoseconds()))
}

// latency runs f on goroutines and merges what they recorded.
func latency(goroutines int,
	f func(g int, start time.Time, h *Histogram) error) (*Histogram, error) {
	var wg sync.WaitGroup
	parts := make([]*Histogram, goroutines)
	errs := make([]error, goroutines)
	for g := range parts {
		parts[g] = hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
	}
	runtime.GC()
	start := time.Now()
	for g := range parts {
		wg.Go(func() { errs[g] = f(g, start, parts[g]) })
	}
	wg.Wait()
	for _, p := range parts[1:] {
		parts[0].Merge(p)
	}
	return parts[0], errors.Join(errs...)
}
