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

// mostPending is how many changes without an answer a claim remembers. A store that only reads for
// a day leaves thousands. If one from before the last ones is made after all, the claim is lost.
const mostPending = 64

// claim is a claim on a slot. Extend and Release have one caller at a time and own every field but
// until, which any goroutine may load.
//
// The window's end is in two places, and until Release the first is never below the second:
//
//	row.Until    reserved in the store by change, with one compare-and-set
//	until        what Window reports: row.Until, cut where the layouts end; see confirm
type claim struct {
	space  *space
	worker int64 // never changes, so any goroutine may read it
	window int64 // Options.Window in milliseconds
	from   int64 // Unix milliseconds; 0: the worker id is used for the first time

	row      row    // as the last change that was answered left it
	header   header // as it was last read
	pending  []row  // the slot after the last mostPending changes whose answers are lost
	closing  bool   // Release was called; Extend fails from then on
	released bool   // Release has done its work, so another call does nothing
	back     error  // how the store went back; nil: it did not, as far as is known
	repaired row    // the slot after a repair whose answer may be lost
	lost     error  // why the claim is lost for good; nil: it is not

	// End of the window in Unix milliseconds; only confirm stores it, and it only grows.
	until atomic.Int64

	universe atomic.Pointer[string] // the header's; confirm stores it before a caller has the claim
}

// clockClaim is a claim on a slot of a store that tells the time.
type clockClaim struct{ *claim }

var _ assigner.Clock = clockClaim{}

// Now returns the store's time.
func (c clockClaim) Now(ctx context.Context) (time.Time, error) {
	return c.space.tell(ctx)
}

// Worker returns the worker id.
func (c *claim) Worker() int64 { return c.worker }

// Window returns the window that is reserved.
func (c *claim) Window() (from, until time.Time) {
	return millis(c.from), time.UnixMilli(c.until.Load()).UTC()
}

// Universe returns the name that the store's header has. It implements assigner.Named.
func (c *claim) Universe() string { return *c.universe.Load() }

// Span returns Options.Window.
func (c *claim) Span() time.Duration { return c.space.options.Window }

// Extend moves the window's end to until, or to a whole Window from now if that is later, but not
// beyond the reach of a store that tells the time. Asked for no more than there is, it returns at
// once without reading the store. It tries a few times and does not wait for a store that is
// away.
func (c *claim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	what := fmt.Sprintf("extending the claim on worker %d", c.Worker())
	if c.closing {
		return time.Time{}, fmt.Errorf("%w: lease: %s: it was released",
			assigner.ErrClaimLost, what)
	}
	if until.IsZero() || until.Year() > lastYear {
		return time.Time{}, fmt.Errorf("lease: %s: until is %v, want an instant before the year %d",
			what, until, lastYear+1)
	}
	want := ceilMillis(until)
	err := c.space.retry(ctx, what, few, func(ctx context.Context) error {
		return c.extend(ctx, want)
	})
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
	var refused error
	if c.header.end(want) > c.row.Until {
		refused = c.reserve(ctx, want)
		if refused != nil && !errors.Is(refused, assigner.ErrBeyondReach) {
			return refused
		}
	}
	if err := c.confirm(ctx); err != nil || c.until.Load() > before {
		return err
	}
	switch {
	case refused != nil:
		return refused
	case c.header.cut == 0:
		return ErrConflict // the layout that cut the window was taken back: try again
	}
	return c.space.superseded(c.header)
}

// reserve moves the slot's end to want, or to a whole Window from now if that is later, as far as
// the layouts and the reach permit. If that is nowhere, the error wraps assigner.ErrBeyondReach.
func (c *claim) reserve(ctx context.Context, want int64) error {
	v, err := c.look(ctx, c.row.Until)
	if err != nil {
		return err
	}
	to := c.header.end(min(max(want, v.now+c.window), c.space.limit(c.header, v.now)))
	if to <= c.row.Until && v.found.is(c.row) {
		return c.space.beyond(c.header, v.now, want)
	}
	return c.change(ctx, v, c.row.Owner, max(to, v.base.Until))
}

// Release gives back the window from used on. It tries until ctx ends, for 5 seconds at most,
// because a server may refuse connections while a fleet stops. If the claim is lost, there is
// nothing to give back.
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
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	err := c.space.retry(ctx, what, closing, func(ctx context.Context) error {
		return c.release(ctx, end)
	})
	if err == nil || errors.Is(err, assigner.ErrClaimLost) {
		c.released = true
		return nil
	}
	return err
}

// release tries once to give back the window from end on.
func (c *claim) release(ctx context.Context, end int64) error {
	v, err := c.look(ctx, end)
	if err != nil || v.base.Owner == "" { // an earlier try has done it
		return err
	}
	return c.change(ctx, v, "", end)
}

// confirm makes the window as long as the slot says, or as the layouts permit. It reads the layouts
// after the write of the slot's end was answered: see header. It never makes the window shorter, so
// ids that were stamped in it stay inside it.
func (c *claim) confirm(ctx context.Context) error {
	h, err := c.space.header(ctx)
	if err != nil {
		return err
	}
	if is := c.older(h); is != "" {
		now, err := c.space.timeOf(ctx, h.entry)
		if err != nil {
			return err
		}
		// Slots may be gone as well, so a window claimed here must begin after all forgotten ones.
		c.space.memory.forgot(max(c.row.Until, now+c.space.reach(c.header)))
		return fmt.Errorf("%w: %w: the header of %s %s", assigner.ErrClaimLost,
			assigner.ErrWentBack, place(c.space.store), is)
	}
	// No window counts before every process can know how far it may reach.
	if !c.space.reached(h) || h.Universe == "" {
		if h, err = c.space.putHeader(ctx, h); err != nil {
			return err
		}
	}
	c.header = h
	c.universe.Store(&h.Universe)
	if end := h.end(c.row.Until); end > c.until.Load() {
		c.until.Store(end)
	}
	return nil
}

// older says what shows that a header, as it was found, went back to an older state. It is empty
// where nothing does. The slot knows a header that the claim has not read yet. A Numberer need not
// keep how often the header was written.
func (c *claim) older(h header) string {
	before := max(c.header.Changes, c.row.Changes)
	switch {
	case !h.exists():
		return "is gone"
	case c.space.numberer == nil && h.Changes < before:
		return fmt.Sprintf("was written %d times, and before %d times", h.Changes, before)
	}
	return ""
}

// view is a claim's slot before a change.
type view struct {
	now    int64 // by the clock that decides when slots are free, in Unix milliseconds
	found  row   // the slot, as it was read
	known  row   // the claim's row, which ends where the claim may have stamped to
	behind bool  // found is behind known
	base   row   // what the change is to replace: found, or the claim's row where found is behind
}

// look reads the slot. end is how far the claim may have stamped.
//
// The slot is this claim's if it is as the claim left it, or as a change of the claim left it whose
// answer did not arrive. Otherwise the claim is lost for good, unless the slot is behind what the
// claim knows: see change.
func (c *claim) look(ctx context.Context, end int64) (view, error) {
	if c.lost != nil {
		return view{}, c.lost
	}
	e, err := c.space.get(ctx, slotName(c.Worker()))
	if err != nil {
		return view{}, err
	}
	now, err := c.space.timeOf(ctx, e)
	if err != nil {
		return view{}, err
	}
	found, err := parseRow(e)
	if err != nil {
		c.lost = fmt.Errorf("%w: %w", assigner.ErrClaimLost, err)
		return view{}, c.lost
	}
	v := view{now: now, found: found, base: found, known: c.row}
	v.known.Until = end
	v.behind = found.behind(v.known)
	switch {
	case c.back != nil && !v.behind: // it is repaired, or where it was again
		if found.is(c.repaired) {
			c.space.memory.note(found)
		}
		c.lost = c.back
	case v.behind:
		v.base = c.row
	case !c.owns(found):
		c.lost = fmt.Errorf("%w: worker %d is at fencing token %d of owner %q, this claim is at %d",
			assigner.ErrClaimLost, c.Worker(), found.FencingToken, found.Owner, c.row.FencingToken)
	}
	return v, c.lost
}

// owns reports whether found is the slot as this claim left it.
func (c *claim) owns(found row) bool {
	return found.is(c.row) || slices.ContainsFunc(c.pending, found.is)
}

// change gives the slot an owner and an end, with one compare-and-set. After an error other than
// ErrConflict the outcome is unknown, and what was sent tells a later read whether the change was
// made. It counts once one more change of it was answered: a store may show what it has not made
// safe yet. Until change returns nil, the claim may stamp up to the end that look was told.
//
// A slot that is behind what the claim knows is no evidence by itself, because reads may be old. If
// the compare-and-set finds no such slot either, the store went back. The slot is repaired then, so
// that no owner begins before that end.
func (c *claim) change(ctx context.Context, v view, owner string, until int64) error {
	err := ErrConflict
	// A store that went back may count to a version again, and then the older slot would be changed
	// as if it were the claim's.
	if c.back == nil && (!v.behind || v.found.entry.Version != c.row.entry.Version) {
		err = c.swapTo(ctx, v.base, v.base.next(owner, c.space.layout, until))
	}
	if !v.behind || !errors.Is(err, ErrConflict) {
		return err
	}
	there, back, err := c.space.believe(ctx, v.found, v.known)
	if back == nil {
		return err
	}
	if c.repaired = there; c.back == nil { // else it says how the slot was found at first
		c.back = back
	}
	if err != nil && !permanent(err) {
		return err // the next try may find the slot repaired
	}
	if c.lost = c.back; err != nil {
		c.lost = fmt.Errorf("%w; the slot could not be repaired: %w", c.back, err)
	} else {
		c.space.memory.note(there)
	}
	return c.lost
}

// swapTo puts to in place of base, which is the claim's.
func (c *claim) swapTo(ctx context.Context, base, to row) error {
	// Both before the change is sent, because from then on it may happen.
	c.pending = append(c.pending[max(0, len(c.pending)+1-mostPending):], to)
	c.space.memory.lower(c.row, to.Until)
	to, err := c.space.swap(ctx, base, to)
	if err == nil {
		c.row, c.pending = to, nil // no other change that was sent can be made any more
		c.space.memory.note(to)
	}
	return err
}
