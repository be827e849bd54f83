package measure

import (
	"errors"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/uidring/uidring/bench/internal/contender"
)

// Histogram is a distribution of times in nanoseconds.
type Histogram = hdrhistogram.Histogram

// Closed calls for one id after the other for about d and returns how long each call took, with one
// reading of the clock in it.
func Closed(run contender.Loop, d time.Duration) (*Histogram, error) {
	h, start := newHistogram()
	for now := time.Duration(0); now < d; {
		before := time.Since(start)
		if err := run(1); err != nil {
			return nil, err
		}
		now = time.Since(start)
		record(h, now-before)
	}
	return h, nil
}

// Open calls for perSecond ids a second for about d. It returns how long it took from when each id
// was due to when it was there: an id that has to wait because an earlier call was late counts as
// late, so nothing is omitted by coordination.
func Open(run contender.Loop, perSecond float64, d time.Duration) (*Histogram, error) {
	h, start := newHistogram()
	gap := time.Duration(float64(time.Second) / perSecond)
	for due := time.Duration(0); due < d; due += gap {
		now := time.Since(start)
		// It yields instead of sleeping: a timer is late by more than most ids take.
		for ; now < due; now = time.Since(start) {
			runtime.Gosched()
		}
		if now > 4*d {
			return nil, errLate
		}
		if err := run(1); err != nil {
			return nil, err
		}
		record(h, time.Since(start)-due)
	}
	return h, nil
}

// errLate ends an open loop that cannot keep its pace.
var errLate = errors.New("measure: cannot keep the offered rate")

func newHistogram() (*Histogram, time.Time) {
	h := hdrhistogram.New(1, time.Minute.Nanoseconds(), 3)
	runtime.GC()
	return h, time.Now()
}

// record adds one value. A value beyond the histogram counts as its end.
func record(h *Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Nanoseconds(), 1), time.Minute.Nanoseconds()))
}
