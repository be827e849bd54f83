package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/uidring/uidring/assigner"
)

// claim is a slot that was won. Its window ends at until; what ZooKeeper has reserved ends at reserved, which is the same
// without a cache file and a spare later with one.
type claim struct {
	a      *Assigner
	layout string
	peer   string
	worker int64
	from   time.Time

	mu    sync.Mutex // guards until alone: Window may be called from any goroutine
	until time.Time

	// Below belongs to whoever calls Extend and Release, which is one goroutine at a time.
	token    string // of the write that the slot holds, as far as is known
	version  int32  // the slot's version after that write: the fencing token
	reserved time.Time
	front    time.Time
	// pending has the writes whose outcome is unknown. All of them need version, so at most one of them takes effect. It
	// grows by one for each time that ZooKeeper could be read, had not carried out the earlier ones, and lost the next answer.
	pending  []string
	lost     bool // somebody else owns the slot
	released bool // Release was called: no more Extend. When it has succeeded, token is empty
}

var _ assigner.Clock = (*claim)(nil)

func (c *claim) Worker() int64 { return c.worker }

func (c *claim) Window() (from, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.until
}

// Extend reserves the slot on to until by one write that the slot's version guards. An answer that got lost is read back.
func (c *claim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	_, end := c.Window()
	if !until.After(end) {
		return end, nil
	}
	if c.released {
		return end, c.errLost("it was released")
	}
	ms, err := ceilMillis(until)
	if err != nil {
		return end, err
	}
	until = millis(ms)
	// The caller asks for a window's length beyond the point that it has reached.
	if front := until.Add(-c.a.o.Window); front.After(c.front) {
		c.front = front
	}
	err = c.reserve(ctx, until.Add(c.a.o.spare()))
	if err != nil && !(errors.Is(err, ErrUnavailable) && c.a.cache.held(c) && !until.After(c.reserved)) {
		return end, err
	}
	if err != nil {
		c.a.o.Logger.Warn("zookeeper does not answer, claim extended from the cache file", "worker", c.worker, "until", until, "error", err)
	}
	// The file has to know what is used up before it is used.
	if err := c.a.cache.consume(c, until); err != nil {
		return end, err
	}
	c.mu.Lock()
	c.until = until
	c.mu.Unlock()
	if err == nil {
		_, _ = c.a.touch(ctx, c.peer) // keeps the clock that others compare with fresh; they can do without
	}
	return until, nil
}

// Release gives the rest of the window back, and the ephemeral node with it. With a cache file the rest stays reserved for
// the next start from that file.
func (c *claim) Release(ctx context.Context, used time.Time) error {
	if c.token == "" {
		return nil
	}
	c.released = true
	_, end := c.Window()
	if used.Before(c.from) {
		used = c.from
	}
	if used.IsZero() { // a new slot, never used
		used = time.UnixMilli(0)
	}
	ms, err := ceilMillis(used)
	if err != nil {
		return err
	}
	used = millis(min(ms, end.UnixMilli()))
	c.front = used
	if c.a.cache.held(c) {
		err = c.a.cache.release(c, used)
	} else if err = c.reserve(ctx, used); errors.Is(err, assigner.ErrClaimLost) {
		err = nil // somebody else's already
	}
	if err != nil {
		return err // may be tried again
	}
	c.token = ""
	_ = c.a.tree.remove(ctx, c.a.tree.peer(c.peer)) // else it goes with the session
	return nil
}

// Now returns ZooKeeper's clock.
func (c *claim) Now(ctx context.Context) (time.Time, error) {
	n, err := c.a.touch(ctx, c.peer)
	if err != nil {
		return time.Time{}, err
	}
	return millis(n.mtime), nil
}

// writes bounds how often reserve sends its write; each further time needs a lost answer before it.
const writes = 3

// reserve makes until the end of the reserved window, whether it grows or, on release, shrinks.
func (c *claim) reserve(ctx context.Context, until time.Time) error {
	var err error
	for range writes {
		if c.lost {
			return c.errLost("somebody else has taken the slot over")
		}
		if len(c.pending) > 0 {
			if err := c.readBack(ctx); err != nil {
				return err
			}
			if c.reserved.Equal(until) {
				return nil
			}
		}
		rec := c.a.record(newToken(), c.layout, until.UnixMilli(), c.front)
		var n node
		n, err = c.a.tree.set(ctx, c.path(), rec.encode(), c.version)
		switch {
		case err == nil:
			c.adopt(rec, n.version)
			return nil
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
			// No write of ours is on its way, so another's is in the slot; but let the slot itself say so.
			if err := c.readBack(ctx); err != nil {
				return err
			}
		case errors.Is(err, ErrUnavailable):
			c.pending = append(c.pending, rec.Token)
			if ctx.Err() != nil {
				return err
			}
		default:
			return err
		}
	}
	return err
}

// readBack finds out which write the slot holds. If it is one of ours, the claim goes on from there.
func (c *claim) readBack(ctx context.Context) error {
	n, err := c.a.tree.get(ctx, c.path())
	if errors.Is(err, zk.ErrNoNode) {
		c.lost = true
		return c.errLost("the slot was deleted")
	}
	if err != nil {
		return err
	}
	rec, err := decodeRecord(n.data)
	switch {
	case n.version < c.version:
		// Either the server that was asked is behind, or ZooKeeper was restored from a backup.
		return fmt.Errorf("%w: slot %s has version %d and had %d before", ErrUnavailable, slotName(c.worker), n.version, c.version)
	case n.version == c.version:
		return nil // none of the pending writes took effect so far
	case err == nil && slices.Contains(c.pending, rec.Token):
		c.adopt(rec, n.version)
		return nil
	}
	c.lost = true
	return c.errLost(fmt.Sprintf("the slot is owned by instance %q on host %q", rec.Instance, rec.Host))
}

// adopt takes note of the write that the slot holds. It settles all pending ones, as they needed the version before it.
func (c *claim) adopt(rec record, version int32) {
	c.token, c.version, c.reserved = rec.Token, version, millis(rec.Until)
	c.pending = nil
}

func (c *claim) path() string { return c.a.tree.slots() + "/" + slotName(c.worker) }

func (c *claim) errLost(why string) error {
	return fmt.Errorf("%w: worker id %d: %s", assigner.ErrClaimLost, c.worker, why)
}
