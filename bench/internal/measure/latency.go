package measure

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/contender"
)

// Latency is the distribution of how long single ids took.
type Latency struct {
	// Service is from the call to its return, in nanoseconds. It includes one reading of the clock.
	Service *hdrhistogram.Histogram
	// Response is from when the id was due to when it was there. It includes what the caller waited because an earlier call was
	// late, which Service leaves out (coordinated omission). Empty at full load, where nothing is due.
	Response *hdrhistogram.Histogram

	IDs     int64
	Elapsed time.Duration
}

// newHistogram holds 1 ns to a minute with three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Minute.Nanoseconds(), 3) }

// FullLoad calls for one id after the other on the given number of goroutines for about d.
func FullLoad(in *contender.Instance, goroutines int, d time.Duration) (Latency, error) {
	return latency(goroutines, func(_ int, start time.Time, l *Latency) error {
		for now := time.Since(start); now < d; {
			before := time.Since(start)
			if err := in.Run(1); err != nil {
				return err
			}
			now = time.Since(start)
			record(l.Service, now-before)
			l.IDs++
		}
		return nil
	})
}

// Paced calls for ids at a rate of perSecond, spread evenly over the goroutines, for about d. A goroutine that is late
// catches up, and the ids that were due meanwhile count as late.
func Paced(in *contender.Instance, goroutines int, perSecond float64, d time.Duration) (Latency, error) {
	gap := time.Duration(float64(goroutines) / perSecond * float64(time.Second))
	return latency(goroutines, func(g int, start time.Time, l *Latency) error {
		due := gap * time.Duration(g) / time.Duration(goroutines)
		for ; due < d; due += gap {
			before := await(start, due)
			if before > 4*d {
				return errLate
			}
			if err := in.Run(1); err != nil {
				return err
			}
			now := time.Since(start)
			record(l.Service, now-before)
			record(l.Response, now-due)
			l.IDs++
		}
		return nil
	})
}

// errLate ends a paced run that cannot keep its pace.
var errLate = errors.New("measure: cannot keep the offered rate")

// await returns when due has come, with the time since start. It gives the processor up between looks instead of sleeping: a
// timer would be late by more than most ids take.
func await(start time.Time, due time.Duration) time.Duration {
	now := time.Since(start)
	for now < due {
		if due-now > 5*time.Millisecond {
			time.Sleep(due - now - 2*time.Millisecond)
		} else {
			runtime.Gosched()
		}
		now = time.Since(start)
	}
	return now
}

// record adds one value. A value beyond the histogram counts as its end.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Nanoseconds(), 1), time.Minute.Nanoseconds()))
}

// latency runs f on goroutines and merges what they found.
func latency(goroutines int, f func(g int, start time.Time, l *Latency) error) (Latency, error) {
	var wg sync.WaitGroup
	parts := make([]Latency, goroutines)
	errs := make([]error, goroutines)
	for g := range parts {
		parts[g] = Latency{Service: newHistogram(), Response: newHistogram()}
	}
	runtime.GC()
	start := time.Now()
	for g := range parts {
		wg.Go(func() { errs[g] = f(g, start, &parts[g]) })
	}
	wg.Wait()
	all := Latency{Service: newHistogram(), Response: newHistogram(), Elapsed: time.Since(start)}
	for _, p := range parts {
		all.Service.Merge(p.Service)
		all.Response.Merge(p.Response)
		all.IDs += p.IDs
	}
	return all, errors.Join(errs...)
}
