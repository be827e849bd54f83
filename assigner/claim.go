package assigner

import (
	"context"
	"sync"
	"time"
)

// openClaim is a worker id from an instant on, without end.
type openClaim struct {
	worker  int64
	from    time.Time // zero: the beginning of time
	release func()    // nil: nothing to do
}

func (c openClaim) Worker() int64                   { return c.worker }
func (c openClaim) Window() (from, until time.Time) { return c.from, until }

// Extend changes nothing: there is no end to move.
func (c openClaim) Extend(context.Context, time.Time) (time.Time, error) { return time.Time{}, nil }

func (c openClaim) Release(context.Context, time.Time) error {
	if c.release != nil {
		c.release()
	}
	return nil
}

// boundedClaim is what claims have whose window ends.
type boundedClaim struct {
	worker  int64
	from    time.Time
	release func() // frees the worker id for this process

	released bool // owned by the caller of Extend and Release

	mu    sync.Mutex
	until time.Time // guarded by mu; only the caller of Extend writes it, and it only grows
}

// Worker returns the worker id.
func (c *boundedClaim) Worker() int64 { return c.worker }

// Window returns the window as it was last extended.
func (c *boundedClaim) Window() (from, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.until
}

// extendTo moves the window's end, but never back.
func (c *boundedClaim) extendTo(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until.After(c.until) {
		c.until = until
	}
}
