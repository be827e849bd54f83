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

// claim is a slot that was won. Its window ends at until; what ZooKeeper has reserved ends at
// reserved, which is the same without a cache file and a spare later with one.
type claim struct {
	a      *Assigner
	layout string
	worker int64
	from   time.Time

	mu    sync.Mutex // guards until alone: Window may be called from any goroutine
	until time.Time

	// The fields below are owned by the caller of Extend and Release, one goroutine at a time.
	token    string    // of the write that the slot holds, as far as is known
	version  int32     // the slot's version after that write: the fencing token
	reserved time.Time // end of what the slot reserves
	usable   time.Time // how much of it may be stamped: see confirm
	cut      time.Time // where windows for layout end; zero: nowhere, as far as is known
	front    time.Time // the latest instant that the generator is known to have reached
	// pending has the writes whose outcome is unknown. All of them need version, so at most one of
	// them takes effect. It grows by one for each time that ZooKeeper could be read, had not
	// carried out the earlier ones, and lost the next answer.
	pending  []string
	earlier  []string // tokens of the last writes before token
	lost     error    // why the claim is lost for good; nil: it is not
	released bool     // Release was called: no more Extend. After its success, token is empty
	left     bool     // the Assigner does not count it any more
	wentBack bool     // the slot had an older write of this claim
}

var (
	_ assigner.Clock    = (*claim)(nil)
	_ assigner.Windowed = (*claim)(nil)
)

func (c *claim) Worker() int64 { return c.worker }

func (c *claim) Window() (from, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.from, c.until
}

// Span returns Options.Window.
func (c *claim) Span() time.Duration { return c.a.o.Window }

// Extend reserves the slot on to until by one write that the slot's version guards. After a lost
// answer the slot is read back.
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
	ask := earlier(until, c.cut)
	if ask.After(end) {
		err = c.reserve(ctx, earlier(until.Add(c.a.o.spare()), c.cut))
	}
	if err == nil {
		err = c.confirm(ctx)
		ask = earlier(ask, c.usable)
	}
	fromFile := errors.Is(err, ErrUnavailable) && c.a.cache.held(c) && ask.After(end) &&
		!ask.After(c.usable) && !c.wentBack // another instance may have the slot by now
	switch {
	case err != nil && !fromFile:
		return end, err
	case !ask.After(end) && c.cut.IsZero():
		return end, fmt.Errorf("%w: a layout was taken back, try again", ErrUnavailable)
	case !ask.After(end):
		return end, errSuperseded(c.a, c.cut)
	}
	until = ask
	if err != nil {
		c.a.o.Logger.Warn("zookeeper does not answer, claim extended from the cache file",
			"worker", c.worker, "until", until, "error", err)
	}
	// The file has to know what is used up before it is used.
	if err := c.a.cache.consume(c, until); err != nil {
		return end, err
	}
	c.mu.Lock()
	c.until = until
	c.mu.Unlock()
	if err == nil {
		// refreshes the clock that peers compare with; an error does no harm
		_, _ = c.a.touch(ctx)
	}
	return until, nil
}

// Release gives the rest of the window back, and the ephemeral node with it. With a cache file the
// rest stays reserved for the next start from that file.
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
		err = nil // another instance owns it already
	}
	if err != nil {
		return err // may be tried again
	}
	c.token = ""
	if c.leave() == 0 {
		_ = c.a.tree.remove(ctx, c.a.tree.peer(c.a.peer)) // else it goes with the session
	}
	return nil
}

// leave has the Assigner count the claim no longer, and returns how many it has.
func (c *claim) leave() int64 {
	if c.left {
		return c.a.claims.Load()
	}
	c.left = true
	return c.a.claims.Add(-1)
}

// Now returns ZooKeeper's clock.
func (c *claim) Now(ctx context.Context) (time.Time, error) {
	n, err := c.a.touch(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return millis(n.mtime), nil
}

// confirm makes as much of the reserved window usable as the root's layouts permit. It reads those
// after the slot was written: see layout.go.
func (c *claim) confirm(ctx context.Context) error {
	cut, err := c.a.tree.cut(ctx, c.layout)
	if err != nil {
		return err
	}
	c.cut, c.usable = cut, earlier(c.reserved, cut)
	return nil
}

// writes bounds how often reserve sends its write; each further time needs a lost answer before it.
const writes = 3

// reserve moves the end of the reserved window to until: forward, or back on release.
func (c *claim) reserve(ctx context.Context, until time.Time) error {
	var err error
	for range writes {
		// The version alone does not tell a slot of an older state that was written since from this
		// claim's. After the read it does: versions of one state only rise.
		if err = c.readBack(ctx); err != nil {
			return err
		}
		if c.reserved.Equal(until) {
			return nil
		}
		rec := c.a.record(newToken(), c.layout, until.UnixMilli(), c.front)
		var n node
		n, err = c.a.tree.set(ctx, c.path(), rec.encode(), c.version)
		switch {
		case err == nil:
			c.adopt(rec, n.version)
			return nil
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
			// The slot has been written since. The next read shows by which instance.
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

// readBack finds out which write the slot holds. If it is one of this claim, the claim goes on from
// there.
//
// A write of this claim that is older than its last one is what ZooKeeper shows after it was
// restored from a backup. The claim is lost then: the owners after it may be forgotten, and only
// clocks know whether its window has passed.
func (c *claim) readBack(ctx context.Context) error {
	if c.lost != nil {
		return c.lost
	}
	n, err := c.a.tree.get(ctx, c.path())
	if errors.Is(err, zk.ErrNoNode) {
		return c.lose("the slot is gone", assigner.ErrWentBack)
	}
	if err != nil {
		return err
	}
	rec, err := decodeRecord(n.data)
	switch {
	case err == nil && n.version == c.version && rec.Token == c.token:
		return nil // none of the pending writes took effect so far
	case err == nil && n.version > c.version && slices.Contains(c.pending, rec.Token):
		c.adopt(rec, n.version)
		return nil
	case err == nil && n.version < c.version && slices.Contains(c.earlier, rec.Token):
		c.wentBack = true
		if err := c.putBack(ctx, rec, n.version); err != nil {
			return err
		}
		return c.lose(fmt.Sprintf("the slot is at version %d of this claim, it was at version %d",
			n.version, c.version), assigner.ErrWentBack)
	}
	why := fmt.Sprintf("the slot is owned by instance %q on host %q", rec.Instance, rec.Host)
	if n.version <= c.version {
		return c.lose(why, assigner.ErrWentBack)
	}
	return c.lose(why, nil)
}

// putBack writes the end of what the claim has reserved into its slot, which holds an older record
// of its own, so that the next window begins there. If the answer is lost, the next read finds the
// older record again, or one that is not the claim's.
func (c *claim) putBack(ctx context.Context, found record, version int32) error {
	if !millis(found.Until).Before(c.reserved) {
		return nil
	}
	rec := c.a.record(newToken(), c.layout, c.reserved.UnixMilli(), c.front)
	_, err := c.a.tree.set(ctx, c.path(), rec.encode(), version)
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		err = fmt.Errorf("%w: slot %s changed under way", ErrUnavailable, c.path())
	}
	return err
}

// keptTokens bounds how many of a claim's writes are known again after a restore.
const keptTokens = 1000

// adopt takes note of the write that the slot holds. It ends all pending ones: they needed the
// version before it.
func (c *claim) adopt(rec record, version int32) {
	c.earlier = append(c.earlier, c.token)
	if len(c.earlier) > keptTokens {
		c.earlier = slices.Delete(c.earlier, 0, keptTokens/2)
	}
	c.token, c.version, c.reserved = rec.Token, version, millis(rec.Until)
	c.pending = nil
}

// lose ends the claim for good. Where ZooKeeper went back, windows of every instance may be
// forgotten. They end a window and a spare from now at the latest, where no clock is ahead, and
// what is claimed from now on begins there.
func (c *claim) lose(why string, cause error) error {
	c.leave()
	c.lost = c.errLost(why)
	if cause != nil {
		c.lost = fmt.Errorf("%w: %w", cause, c.lost)
		end := c.a.now().Add(c.a.o.Window + c.a.o.spare())
		if c.reserved.After(end) {
			end = c.reserved
		}
		c.a.forgot(end)
		// Another instance may use what the file proves.
		if err := c.a.cache.consume(c, c.reserved); err != nil {
			c.lost = fmt.Errorf("%w; %w", c.lost, err)
		}
	}
	return c.lost
}

func (c *claim) path() string { return c.a.tree.slot(c.worker) }

func (c *claim) errLost(why string) error {
	return fmt.Errorf("%w: worker id %d: %s", assigner.ErrClaimLost, c.worker, why)
}
