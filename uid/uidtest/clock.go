package uidtest

import (
	"sync/atomic"
	"time"
)

// Clock is a wall clock that a test sets, for uid.Options.Clock. It runs at the machine's pace. It
// is safe for concurrent use.
type Clock struct {
	start time.Time
	skew  atomic.Int64
}

// NewClock returns a clock that agrees with the machine's.
func NewClock() *Clock { return &Clock{start: time.Now()} }

// Step moves the wall clock by d, back if d is negative.
func (c *Clock) Step(d time.Duration) { c.skew.Add(int64(d)) }

// Set moves the wall clock to t.
func (c *Clock) Set(t time.Time) { c.Step(t.Sub(c.Now())) }

// Now returns the wall time.
func (c *Clock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.skew.Load())) // without the monotonic reading
}

// Read returns the wall time, and how long the clock has run, which no Step changes.
func (c *Clock) Read() (wall time.Time, mono time.Duration) {
	return c.Now(), time.Since(c.start)
}
