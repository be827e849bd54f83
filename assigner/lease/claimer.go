package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
)

const (
	// candidates is how many free slots an Assign chooses from, those that have been free for
	// longest, and tries is how many of them it tries before it looks again. Each process tries
	// them in an order of its own.
	candidates, tries = 128, 8

	// ahead is how far beyond the local clock a free slot may end. A slot that ends later is free
	// only because the store's clock is ahead, and its next owner has no ids until then.
	ahead = time.Minute

	// Pauses after conflicts over a number double from the first to the last, and each is cut at
	// random. In TestFleetRequests 200 processes that start at once on a new store make 19 requests
	// each. They make 99 each if all pauses are as short as the first.
	firstForNumber, lastForNumber = 40 * time.Millisecond, 4 * time.Second

	none = -1 // stands for no worker id
)

// claimer is one Assign: what it wants, and what it has done so far without knowing the outcome. It
// has one goroutine. retry calls claim until it gives a claim or an error that lasts:
//
//	got is set                      an earlier call made the change; confirm is what is missing
//	an attempt turns out made       find sees it in the list, and it is the claim
//	a free slot                     take changes it, by a compare-and-set
//	no free slot, a new worker id   create marks it as used in the header, then makes its slot
//	neither                         assigner.ErrWorkersExhausted
type claimer struct {
	space
	first, last int64 // the range of worker ids that claims are made in
	window      int64 // Options.Window in milliseconds
	compared    bool  // the clocks are: see MaxSkew

	sent map[string]attempt // by token: changes of slots whose outcome is unknown
	got  *attempt           // the change that was made; nil: none was, as far as is known

	fresh       int64  // a worker id that the header marks as used for this Assign, or none
	marked      string // token of a write of the header whose outcome is unknown; empty: none
	markedFresh int64  // the worker id that this write marks
}

// attempt is a change to a slot, and where the window begins if it is made.
type attempt struct {
	mine row   // the slot after the change
	from int64 // Unix milliseconds
}

// behindError is a slot that is behind what a claim of this process left there. It never leaves the
// package: refuse repairs the slot and returns the error that callers get.
type behindError struct {
	found row // as it is
	known row // as the claim left it
}

// Error says which slot it is. Callers of Assign get the error of refuse instead.
func (e *behindError) Error() string {
	return fmt.Sprintf("the slot of worker %d went back", e.known.worker)
}

// claim tries once to get a worker id. A temporary error leaves the claimer ready for another try,
// which finds what this one has changed.
func (c *claimer) claim(ctx context.Context) (*claim, error) {
	var err error
	if c.got == nil {
		c.got, err = c.find(ctx)
	}
	if b, ok := errors.AsType[*behindError](err); ok {
		return nil, c.refuse(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	got := c.got
	// Another claim of this Assigner may have seen since then that the store went back.
	from := max(got.from, c.memory.begin())
	cl := &claim{space: &c.space, worker: got.mine.worker, window: c.window, from: from,
		row: got.mine}
	c.memory.note(got.mine)
	if err := cl.confirm(ctx); err != nil {
		return nil, err
	}
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	if until := cl.until.Load(); until > from && until > now {
		return cl, nil
	}
	if cl.header.cut > 0 {
		return nil, c.succeeded(cl.header)
	}
	// The window passed before the store confirmed it, and any process may claim the slot now.
	delete(c.sent, got.mine.Token)
	c.got = nil
	if c.fresh == got.mine.worker {
		c.fresh = none // it has its slot
	}
	return nil, ErrConflict
}

// find claims a free slot, or makes one if none is free. It reads the time after each step that
// may take long, because the window's length counts from that time.
func (c *claimer) find(ctx context.Context) (*attempt, error) {
	h, rows, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if a, ok := c.sent[r.Token]; ok && r.is(a.mine) {
			a.mine.entry = r.entry
			return &a, nil
		}
	}
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	if h.cut > 0 && now >= h.cut {
		return nil, c.succeeded(h)
	}
	free := c.free(rows, now)
	if len(free) == 0 {
		return c.create(ctx, h, rows)
	}
	for _, r := range free[:min(tries, len(free))] {
		if known, ok := c.memory.row(r.worker); ok && r.behind(known) {
			return nil, &behindError{r, known}
		}
		a, err := c.take(ctx, h, r, now, max(r.Until, c.memory.begin()))
		if !errors.Is(err, ErrConflict) {
			return a, err
		}
		if now, err = c.now(ctx); err != nil {
			return nil, err
		}
	}
	return nil, ErrConflict
}

// look reads the header and all slots. If the header lacks layouts of the claim, or is not there,
// look adds them first.
func (c *claimer) look(ctx context.Context) (h header, rows []row, err error) {
	for range tries {
		h, rows, err = c.rows(ctx)
		if err == nil {
			h, err = c.compare(h)
		}
		switch {
		case err != nil:
			return h, rows, err
		case h.entry.Version == "":
			err = c.addHeader(ctx)
		case h.lacks:
			err = c.addLayouts(ctx)
		default:
			return h, rows, nil
		}
		if err != nil && !errors.Is(err, ErrConflict) {
			return h, rows, err
		}
	}
	return h, rows, ErrConflict
}

// free returns slots of the range whose window has passed, the candidates that have been free for
// longest, in random order. The order keeps the processes of a fleet that start together from
// trying the same slots.
func (c *claimer) free(rows []row, now int64) []row {
	limit := min(now, c.local().Add(ahead).UnixMilli())
	free := slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return r.worker < c.first || r.worker > c.last || r.Until > limit
	})
	slices.SortFunc(free, func(a, b row) int { return cmp.Compare(a.Until, b.Until) })
	free = free[:min(candidates, len(free))]
	rand.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	return free
}

// take changes the slot old into this process's. It is ErrConflict if another process was faster.
// The window begins at from.
func (c *claimer) take(ctx context.Context, h header, old row, now, from int64) (*attempt, error) {
	until := max(old.Until, h.end(max(now, from)+c.window)) // no slot's end moves back
	a := attempt{mine: old.next(c.options.Owner, c.layout, until), from: from}
	// Noted before the change is sent, because from then on it may happen.
	c.sent[a.mine.Token] = a
	var err error
	a.mine, err = c.swap(ctx, old, a.mine)
	if err != nil {
		return nil, err
	}
	return &a, nil
}

// create makes a slot for a worker id that no process has had.
func (c *claimer) create(ctx context.Context, h header, rows []row) (*attempt, error) {
	if c.marked != "" && c.marked == h.Token {
		c.fresh = c.markedFresh
	}
	c.marked = ""
	if c.fresh == none {
		var err error
		if h, err = c.number(ctx, h, rows); err != nil {
			return nil, err
		}
	}
	absent := row{worker: c.fresh, entry: Entry{Name: slotName(c.fresh)}}
	if known, ok := c.memory.row(c.fresh); ok {
		return nil, &behindError{absent, known}
	}
	now, err := c.now(ctx)
	if err != nil {
		return nil, err
	}
	a, err := c.take(ctx, h, absent, now, max(h.Floor, c.memory.begin()))
	if errors.Is(err, ErrConflict) {
		c.fresh = none // the slot is there, and the next look tells whether it is this claim's
	}
	return a, err
}

// numberTries bounds how often number tries before the next look at all slots.
const numberTries = 32

// number takes the lowest worker id of the range that is not used, and marks it as used in the
// header, which it returns. Processes that start at once contend for the header, so after a
// conflict only the header is read again, not the slots.
func (c *claimer) number(ctx context.Context, h header, rows []row) (header, error) {
	layout, pause := h.Layout, firstForNumber
	for i := range numberTries {
		for _, r := range rows {
			h.Used = h.Used.with(r.worker, r.worker+1) // the header lacks some if it went back
		}
		n, ok := h.Used.lowest(c.first, c.last)
		switch {
		case !ok && i > 0:
			return h, ErrConflict // rows is old, and a slot may be free by now
		case !ok:
			return h, c.exhausted(rows)
		}
		h.Used = h.Used.with(n, n+1)
		put, err := c.putHeader(ctx, h)
		if err == nil {
			c.fresh = n
			return put, nil
		}
		c.marked, c.markedFresh = put.Token, n
		if !errors.Is(err, ErrConflict) {
			return h, err
		}
		timer := time.NewTimer(rand.N(pause))
		pause = min(2*pause, lastForNumber)
		select {
		case <-ctx.Done():
			timer.Stop()
			return h, ctx.Err()
		case <-timer.C:
		}
		if h, err = c.header(ctx); err != nil {
			return h, err
		}
		switch {
		case h.Token == c.marked:
			c.fresh = n // the conflict was with its own write, as when a request was sent twice
			return h, nil
		case h.entry.Version == "" || h.Layout != layout:
			return h, ErrConflict
		}
	}
	return h, ErrConflict
}

// exhausted returns the error of an Assign that finds no free worker id. It says when the first
// one is free.
func (c *claimer) exhausted(rows []row) error {
	there, first := 0, int64(maxMillis)
	for _, r := range rows {
		if r.worker >= c.first && r.worker <= c.last {
			there++
			first = min(first, r.Until)
		}
	}
	if first == maxMillis {
		return fmt.Errorf("%w: the worker ids %d to %d have been given out, and %d of "+
			"their slots are there; a slot that was deleted is not given again",
			assigner.ErrWorkersExhausted, c.first, c.last, there)
	}
	return fmt.Errorf("%w: all of the worker ids %d to %d are reserved, the first until %v",
		assigner.ErrWorkersExhausted, c.first, c.last, millis(first))
}

// refuse ends an Assign that finds a slot behind what a claim of this process left there. It
// repairs the slot, for the next Assign, and returns the error that says so.
func (c *claimer) refuse(ctx context.Context, b *behindError) error {
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	there, err := c.repair(ctx, b.found, b.known)
	if errors.Is(err, ErrConflict) {
		return err
	}
	back := c.wentBack(b.found, b.known, now, c.window)
	if err != nil {
		return fmt.Errorf("%w; the slot could not be repaired: %w", back, err)
	}
	c.memory.note(there)
	return back
}
