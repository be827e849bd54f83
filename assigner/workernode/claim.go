package workernode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// tries is how often Extend and Release try before they leave it to the caller, who has a schedule of its own.
const tries = 3

// leasedClaim is a claim on a row of WORKER_LEASE. Extend and Release have one caller at a time and own every field but until, which
// anyone may load.
type leasedClaim struct {
	table
	worker int64
	window int64 // milliseconds
	from   int64 // unix milliseconds; 0: nobody had the worker id before

	row      row     // as this claim last knew it to be
	nonces   []int64 // of changes from that row whose outcome is unknown
	closing  bool    // Release was called
	released bool    // and is done
	back     error   // the table went back; nil: not as far as is known
	lost     error   // why the claim is lost for good, or nil

	until atomic.Int64 // end of the window in unix milliseconds; never less than it was
}

// Worker returns the worker id.
func (c *leasedClaim) Worker() int64 { return c.worker }

// Window returns the window that is reserved.
func (c *leasedClaim) Window() (from, until time.Time) {
	return millis(c.from), time.UnixMilli(c.until.Load()).UTC()
}

// Now returns the database's time.
func (c *leasedClaim) Now(ctx context.Context) (time.Time, error) { return c.now(ctx) }

// Extend moves the window's end to until, or to a whole Window from the database's present if that is later. Asked for no more than
// there is, it returns at once without a look at the database. It tries a few times and does not wait for a database that is down.
func (c *leasedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	what := fmt.Sprintf("extending the claim on worker %d", c.worker)
	if c.closing {
		return time.Time{}, fmt.Errorf("%w: workernode: %s: it was released", assigner.ErrClaimLost, what)
	}
	if until.IsZero() || until.Year() > lastYear {
		return time.Time{}, fmt.Errorf("workernode: %s: until is %v, want an instant before the year %d", what, until, lastYear+1)
	}
	want := ceilMillis(until)
	err := c.few(ctx, what, func(ctx context.Context) error {
		if want <= c.row.until {
			return nil
		}
		now, err := c.sync(ctx, c.row.until)
		if err != nil || want <= c.row.until {
			return err
		}
		return c.change(ctx, c.row.owner, max(want, now+c.window))
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(c.until.Load()).UTC(), nil
}

// Release moves the window's end back to used, or to its begin if that is later, and gives the worker id free for others from then
// on. It tries a few times and does not wait for a database that is down: whatever comes of it, the worker id is free when the
// window has passed. A claim that is lost has nothing to give back, which is no error.
func (c *leasedClaim) Release(ctx context.Context, used time.Time) error {
	if c.released {
		return nil
	}
	c.closing = true
	end := c.from
	if !used.IsZero() {
		end = max(c.from, ceilMillis(used))
	}
	if used.Year() > lastYear {
		end = c.row.until
	}
	end = min(end, c.row.until)
	what := fmt.Sprintf("releasing worker %d", c.worker)
	err := c.few(ctx, what, func(ctx context.Context) error {
		if c.released {
			return nil
		}
		if _, err := c.sync(ctx, end); err != nil {
			return err
		}
		if c.row.owner == "" { // an earlier attempt has done it
			c.released = true
			return nil
		}
		if err := c.change(ctx, "", end); err != nil {
			return err
		}
		c.released = true
		return nil
	})
	if errors.Is(err, assigner.ErrClaimLost) {
		c.released = true
		return nil
	}
	return err
}

// sync compares the row with what this claim knows, takes note of an own change that turns out to have been made, and returns
// the database's time. A row that somebody else changed is ErrClaimLost, for good. A row that is behind what this claim knows is
// mended first, so that nobody begins before end, to which this claim may stamp.
func (c *leasedClaim) sync(ctx context.Context, end int64) (now int64, err error) {
	if c.lost != nil {
		return 0, &finalError{c.lost}
	}
	known := c.row
	known.until = end
	var found *row
	switch r, at, err := c.find(ctx, c.worker); {
	case err == nil:
		found, now = &r, at
	case !errors.Is(err, sql.ErrNoRows):
		return 0, err
	default:
		if now, err = c.present(ctx); err != nil {
			return 0, err
		}
	}
	switch {
	case found == nil || found.behind(known):
		back, err := c.wentBack(ctx, found, known, now, c.window)
		if c.back == nil {
			c.back = back
		}
		if err != nil && c.classify(err) == transient {
			return 0, err // with c.back kept: the next look may find the row mended
		}
		if c.lost = c.back; err != nil {
			c.lost = fmt.Errorf("%w; the row could not be mended: %w", c.back, err)
		}
	case c.back != nil:
		c.lost = c.back
	case found.is(c.row):
		return now, nil
	case found.generation == c.row.generation+1 && slices.Contains(c.nonces, found.nonce):
		c.settle(*found)
		return now, nil
	default:
		c.lost = fmt.Errorf("%w: worker %d in namespace %q is at generation %d of owner %q, this claim is at %d", assigner.ErrClaimLost,
			c.worker, c.namespace, found.generation, found.owner, c.row.generation)
	}
	return 0, &finalError{c.lost}
}

// change moves the row on to another owner and end, with one compare-and-set.
func (c *leasedClaim) change(ctx context.Context, owner string, until int64) error {
	next := row{worker: c.worker, generation: c.row.generation + 1, nonce: newNonce(), owner: owner, until: until}
	// Before the change is sent, because from then on it may happen.
	c.nonces = append(c.nonces, next.nonce)
	c.memory.lower(c.row, until)
	ok, err := c.swap(ctx, c.row, next)
	if err != nil {
		return err
	}
	if !ok {
		// Between sync and here somebody took over, or an earlier attempt of ours arrived late. The next sync tells.
		return errLate
	}
	c.settle(next)
	return nil
}

// settle takes note of the row as it is. Attempts at a change of the row before cannot succeed any more.
func (c *leasedClaim) settle(r row) {
	c.row = r
	c.nonces = nil
	c.memory.note(r)
	if r.until > c.until.Load() {
		c.until.Store(r.until)
	}
}

// few calls do until it succeeds, fails for good, or has failed a few times.
func (c *leasedClaim) few(ctx context.Context, what string, do func(context.Context) error) error {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return c.gaveUp(ctx, what, nil)
		}
		err := c.attempt(ctx, do)
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[*finalError](err); ok {
			return f.error
		}
		if ctx.Err() != nil {
			return c.gaveUp(ctx, what, err)
		}
		if n == tries || c.classify(err) != transient {
			return c.refused(what, err)
		}
	}
}

// millis returns the instant of a unix millisecond, and the zero time for 0, which stands for the beginning of time.
func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// lastYear is the last whose milliseconds fit everywhere with room to spare.
const lastYear = 9999

// ceilMillis returns the first unix millisecond at or after t, from 0 on.
func ceilMillis(t time.Time) int64 {
	if t.Before(time.UnixMilli(0)) {
		return 0 // far enough back, milliseconds would wrap around
	}
	ms := t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms
}
