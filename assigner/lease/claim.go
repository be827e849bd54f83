package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// claim is a claim on a slot. Extend and Release have one caller at a time and own every field but
// until, which any goroutine may load.
//
// The window's end is in two places, and until Release the first is never below the second:
//
//	row.Until    reserved in the store by change, with one compare-and-set
//	until        what Window reports: row.Until, cut where the layouts end; see confirm
type claim struct {
	*space
	worker int64 // never changes, so any goroutine may read it
	window int64 // Options.Window in milliseconds
	from   int64 // Unix milliseconds; 0: the worker id is used for the first time

	row      row      // as this claim last knew it to be
	header   header   // likewise
	pending  []string // tokens of changes from that row whose outcome is unknown
	closing  bool     // Release was called; Extend fails from then on
	released bool     // Release has done its work, so another call does nothing
	back     error    // how the store went back; nil: it did not, as far as is known
	lost     error    // why the claim is lost for good; nil: it is not

	// End of the window in Unix milliseconds; only confirm stores it, and it only grows.
	until atomic.Int64
}

// clockClaim is a claim on a slot of a store that tells the time.
type clockClaim struct{ *claim }

var _ assigner.Clock = clockClaim{}

// Now returns the store's time.
func (c clockClaim) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := c.retry(ctx, "asking for the time", few, func(ctx context.Context) (err error) {
		now, err = c.now(ctx)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(now).UTC(), nil
}

// Worker returns the worker id.
func (c *claim) Worker() int64 { return c.worker }

// Window returns the window that is reserved.
func (c *claim) Window() (from, until time.Time) {
	return millis(c.from), time.UnixMilli(c.until.Load()).UTC()
}

// Span returns Options.Window.
func (c *claim) Span() time.Duration { return c.options.Window }

// Extend moves the window's end to until, or to a whole Window from now if that is later. Asked for
// no more than there is, it returns at once without a look at the store. It tries a few times and
// does not wait for a store that is away.
func (c *claim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	what := fmt.Sprintf("extending the claim on worker %d", c.Worker())
	if c.closing {
		return time.Time{}, fmt.Errorf("%w: slots: %s: it was released",
			assigner.ErrClaimLost, what)
	}
	if until.IsZero() || until.Year() > lastYear {
		return time.Time{}, fmt.Errorf("lease: %s: until is %v, want an instant before the year %d",
			what, until, lastYear+1)
	}
	want := ceilMillis(until)
	err := c.retry(ctx, what, few, func(ctx context.Context) error { return c.extend(ctx, want) })
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(c.until.Load()).UTC(), nil
}

// extend tries once to move the window's end to want.
func (c *claim) extend(ctx context.Context, want int64) error {
	before := c.until.Load()
	if want <= before {
		return nil
	}
	if to := c.header.end(want); to > c.row.Until {
		err := c.change(ctx, c.row.Until, func(now int64) (owner string, until int64, ok bool) {
			return c.row.Owner, c.header.end(max(want, now+c.window)), to > c.row.Until
		})
		if err != nil {
			return err
		}
	}
	err := c.confirm(ctx)
	if after := c.until.Load(); err != nil || after > before {
		return err
	}
	if c.header.cut == 0 {
		return ErrConflict // the layout that cut the window was taken back: try again
	}
	return c.succeeded(c.header)
}

// Release moves the window's end back to used, or to the window's beginning if that is later. From
// then on other processes may claim the worker id. Release tries a few times and does not wait for
// a store that is away, because the worker id is free without it when the window has passed. A
// claim that is lost has nothing to give back, which is no error.
func (c *claim) Release(ctx context.Context, used time.Time) error {
	if c.released {
		return nil
	}
	c.closing = true
	end := max(c.from, ceilMillis(used)) // which of the zero time is 0
	if used.Year() > lastYear {          // its milliseconds may have wrapped around
		end = c.row.Until
	}
	end = min(end, c.row.Until) // only an extension moves the end on
	what := fmt.Sprintf("releasing worker %d", c.Worker())
	err := c.retry(ctx, what, few, func(ctx context.Context) error {
		return c.change(ctx, end, func(int64) (owner string, until int64, ok bool) {
			return "", end, c.row.Owner != "" // without an owner an earlier try has done it
		})
	})
	if err == nil || errors.Is(err, assigner.ErrClaimLost) {
		c.released = true
		return nil
	}
	return err
}

// confirm makes the window as long as the slot says, or as the layouts permit. It reads the layouts
// after the write of the slot's end was answered: see header. It never makes the window shorter, so
// ids that were stamped in it stay inside it.
func (c *claim) confirm(ctx context.Context) error {
	h, err := c.space.header(ctx)
	if err != nil {
		return err
	}
	if h.entry.Version == "" {
		// Slots may be gone as well, so a window claimed here must begin after all forgotten ones.
		c.memory.forgot(max(c.row.Until, c.local().UnixMilli()+c.window))
		return fmt.Errorf("%w: %w: the header of %s is gone", assigner.ErrClaimLost,
			assigner.ErrWentBack, place(c.store))
	}
	c.header = h
	if end := h.end(c.row.Until); end > c.until.Load() {
		c.until.Store(end)
	}
	return nil
}

// change changes the slot's owner and end to what next says, with one compare-and-set. With ok
// false the slot stays as it is. now is the time by the clock that decides when slots are free, in
// Unix milliseconds. Until change returns nil, the claim may stamp up to end.
//
// The slot is this claim's if it is as the claim left it, or as a change of the claim left it whose
// answer did not arrive. Otherwise the claim is lost for good. A slot that is behind what the claim
// knows is repaired first, so that no owner begins before end.
func (c *claim) change(ctx context.Context, end int64,
	next func(now int64) (owner string, until int64, ok bool)) error {
	if c.lost != nil {
		return c.lost
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	e, err := c.get(ctx, slotName(c.Worker()))
	if err != nil {
		return err
	}
	found, err := parseRow(e)
	if err != nil {
		c.lost = fmt.Errorf("%w: %w", assigner.ErrClaimLost, err)
		return c.lost
	}
	known := c.row
	known.Until = end
	switch {
	case found.behind(known):
		if c.back == nil {
			c.back = c.wentBack(found, known, now, c.window)
		}
		there, err := c.repair(ctx, found, known)
		if err != nil && !permanent(err) {
			return err // c.back stays set: the next try may find the slot repaired
		}
		if c.lost = c.back; err != nil {
			c.lost = fmt.Errorf("%w; the slot could not be repaired: %w", c.back, err)
		} else {
			c.memory.note(there)
		}
		return c.lost
	case c.back != nil:
		c.lost = c.back
		return c.lost
	case c.owns(found):
		return c.swapTo(ctx, now, next)
	}
	c.lost = fmt.Errorf("%w: worker %d is at fencing token %d of owner %q, this claim is at %d",
		assigner.ErrClaimLost, c.Worker(), found.Generation, found.Owner, c.row.Generation)
	return c.lost
}

// swapTo changes the slot to what next says. After an error the outcome is unknown, and the token
// tells a later try whether the change was made.
func (c *claim) swapTo(ctx context.Context, now int64,
	next func(now int64) (owner string, until int64, ok bool)) error {
	owner, until, ok := next(now)
	if !ok {
		return nil
	}
	to := c.row.next(owner, c.layout, until)
	// Both before the change is sent, because from then on it may happen.
	c.pending = append(c.pending, to.Token)
	c.memory.lower(c.row, until)
	to, err := c.swap(ctx, c.row, to)
	if err == nil {
		c.settle(to)
	}
	return err
}

// owns reports whether found is this claim's slot. A slot that is one change further and has a
// token of this claim is: the answer to that change was lost, and owns takes note of the slot.
func (c *claim) owns(found row) bool {
	if found.Generation == c.row.Generation+1 && slices.Contains(c.pending, found.Token) {
		c.settle(found)
	}
	if !found.is(c.row) {
		return false
	}
	c.row.entry = found.entry // its Version may differ where the store went back and forth
	return true
}

// settle takes note that the slot is r. It forgets the tokens of changes from the row before: none
// of them can be made any more.
func (c *claim) settle(r row) {
	c.row = r
	c.pending = nil
	c.memory.note(r)
}
