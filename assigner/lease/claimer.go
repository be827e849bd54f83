package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/uidring/uidring/assigner"
)

const (
	// tries is how many free slots an Assign tries before it looks again, and how many new worker
	// ids before it asks anew which there are.
	tries = 8

	none = -1 // stands for no worker id
)

// claimer is one Assign: what it wants, and what it has done so far without knowing the outcome. It
// has one goroutine. retry calls claim until it gives a claim or an error that lasts:
//
//	got is set                      an earlier call made the change; confirm is what is missing
//	an attempt turns out made       made finds it, and its slot is taken once more
//	a free slot                     take changes it, by a compare-and-set
//	no free slot, a new worker id   create makes its slot: see number
//	neither                         a slot that is free and ends ahead of the local clock
//	no such slot                    assigner.ErrWorkersExhausted
type claimer struct {
	space       *space
	first, last int64 // the range of worker ids that claims are made in
	window      int64 // Options.Window in milliseconds
	compared    bool  // the clocks are: see MaxSkew

	sent map[string]attempt // by token: changes of slots whose outcome is unknown
	got  *attempt           // the change that was made; nil: none was, as far as is known

	busy map[int64]bool // worker ids whose slots other sessions hold
	skip int            // bound of the random number of free slots that Index.Look leaves out

	number number // how new worker ids are come by
}

// newClaimer returns the claimer of an Assign in a range of worker ids. It takes the worker id that
// an earlier Assign left over.
func newClaimer(s *space, first, last int64) *claimer {
	c := &claimer{space: s, first: first, last: last, window: s.options.Window.Milliseconds(),
		sent: map[string]attempt{}, busy: map[int64]bool{},
		number: number{worker: none, among: 1}}
	if spare := s.memory.takeSpare(last); spare != nil {
		c.number = spare.number
		for _, a := range spare.sent {
			c.sent[a.mine.Token] = a
		}
	}
	return c
}

// close leaves a new worker id that came to no use to the next Assign.
func (c *claimer) close() {
	n := c.number
	if n.worker == none || c.got != nil && c.got.mine.worker == n.worker {
		return
	}
	var sent []attempt
	for _, a := range c.sent {
		if a.mine.worker == n.worker {
			sent = append(sent, a)
		}
	}
	c.space.memory.keepSpare(spare{n, sent})
}

// attempt is a change to a slot, and where the window begins if it is made.
type attempt struct {
	mine row   // the slot after the change
	from int64 // Unix milliseconds
	busy bool  // another session held the slot, and the change may still wait for it
}

// behindError is a slot that a list shows behind what a claim of this process left there. It never
// leaves the package: refuse repairs the slot and returns the error that callers get.
type behindError struct {
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
	var b *behindError
	if errors.As(err, &b) {
		return nil, c.refuse(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	got := c.got
	cl := &claim{space: c.space, worker: got.mine.worker, window: c.window, row: got.mine}
	c.space.memory.note(got.mine)
	if err := cl.confirm(ctx); err != nil {
		return nil, err
	}
	now, err := c.space.timeOf(ctx, cl.header.entry)
	if err != nil {
		return nil, err
	}
	// Another claim of this Assigner may have seen by now that the store went back.
	cl.from = max(got.from, c.space.memory.begin())
	if until := cl.until.Load(); until > cl.from && until > now {
		return cl, nil
	}
	if cl.header.cut > 0 {
		return nil, c.space.superseded(cl.header)
	}
	// The window passed before the store confirmed it, and any process may claim the slot now.
	delete(c.sent, got.mine.Token)
	c.got = nil
	if c.number.worker == got.mine.worker {
		c.number.leave() // it has its slot
	}
	return nil, ErrConflict
}

// find claims a free slot, or makes one if none is free.
func (c *claimer) find(ctx context.Context) (*attempt, error) {
	v, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	mine, from, made, err := c.made(ctx, v.slots)
	if err != nil {
		return nil, err
	}
	h := v.header
	now, err := c.space.timeOf(ctx, h.entry)
	if err != nil {
		return nil, err
	}
	if made {
		// A store may show what it has not made safe yet, so the slot is changed once more, and the
		// answer to that counts.
		return c.take(ctx, h, mine, now, max(from, c.space.memory.begin()))
	}
	if h.cut > 0 && now >= h.cut {
		return nil, c.space.superseded(h)
	}
	free := c.free(v.slots, now)
	if len(free) == 0 {
		a, err := c.create(ctx, v)
		switch {
		case !errors.Is(err, assigner.ErrWorkersExhausted):
			return a, err
		case v.unseen || len(c.busy) > 0:
			// The slots are old, or all that is known of some is that other sessions had them.
			clear(c.busy)
			return nil, ErrConflict
		default:
			if free, err = c.exhausted(ctx, v, err); err != nil {
				return nil, err
			}
		}
	}
	if err := c.within(h, now, 0); err != nil {
		return nil, err
	}
	for _, r := range free[:min(tries, len(free))] {
		if known, ok := c.space.memory.row(r.worker); ok && r.behind(known) {
			return nil, &behindError{known}
		}
		a, err := c.take(ctx, h, r, now, max(r.Until, c.space.memory.begin()))
		if !errors.Is(err, ErrConflict) {
			return a, err
		}
		if c.space.index != nil {
			continue // the time of the list is as good
		}
		if now, err = c.space.now(ctx); err != nil {
			return nil, err
		}
	}
	// Others were faster. There may be many of them, so the next look into an Index leaves out a
	// random number of the slots in front.
	c.skip = max(candidates, 2*c.skip)
	return nil, ErrConflict
}

// made returns the slot of an attempt that turns out made, and where its window begins. Without an
// Index slots are all of the list. With an Index the slots of the attempts are read, each attempt
// once: a change that is still on its way may be made later, and its slot then stays unused until
// its window has passed. An attempt whose slot another session held is the exception, because it
// may still wait for that session. It is kept until it is made, and looked for without waiting.
func (c *claimer) made(
	ctx context.Context, slots []row,
) (mine row, from int64, ok bool, err error) {
	if c.space.index == nil {
		for _, r := range slots {
			if a, sent := c.sent[r.Token]; sent && r.is(a.mine) {
				return r, a.from, true, nil
			}
		}
		return mine, 0, false, nil
	}
	for token, a := range c.sent {
		name := slotName(a.mine.worker)
		if a.busy {
			shown, err := c.space.shows(ctx, name, token)
			if err != nil {
				return mine, 0, false, err
			}
			if !shown {
				continue
			}
		}
		e, err := c.space.get(ctx, name)
		if err != nil {
			return mine, 0, false, err
		}
		if r, bad := parseRow(e); bad == nil && r.is(a.mine) {
			return r, a.from, true, nil
		}
		delete(c.sent, token)
	}
	return mine, 0, false, nil
}

// within returns an error unless a window that begins at from can be a second long. The store's
// reach bounds it, and from may lie that far ahead in a store that went back.
func (c *claimer) within(h header, now, from int64) error {
	end := max(from, c.space.memory.begin()) + minWindow.Milliseconds()
	if end > c.space.limit(h, now) {
		return c.space.beyond(h, now, end)
	}
	return nil
}

// take changes the slot old into this process's. It is ErrConflict if another process was faster,
// and ErrBusy if another session holds the slot. The window begins at from.
func (c *claimer) take(ctx context.Context, h header, old row, now, from int64) (*attempt, error) {
	// No slot's end moves back.
	until := max(old.Until, h.end(min(max(now, from)+c.window, c.space.limit(h, now))))
	a := attempt{mine: old.next(c.space.options.Owner, c.space.layout, until), from: from}
	a.mine.Universe, a.mine.Changes = h.Universe, h.Changes
	token := a.mine.Token
	// Before the change is sent, because from then on it may happen.
	c.sent[token] = a
	if n := &c.number; old.worker == n.worker && (n.end == 0 || until < n.end) {
		n.end = until
	}
	mine, err := c.space.swap(ctx, old, a.mine)
	switch {
	case err == nil:
		a.mine = mine
		return &a, nil
	case errors.Is(err, ErrBusy):
		a.busy = true
		c.sent[token] = a
		c.busy[old.worker] = true
	case errors.Is(err, ErrConflict) && c.space.index != nil:
		delete(c.sent, token) // without an Index the list tells, at no cost
	}
	return nil, err
}

// refuse ends an Assign that finds a slot behind what a claim of this process left there. It
// repairs the slot, for the next Assign, and returns the error that says so.
func (c *claimer) refuse(ctx context.Context, b *behindError) error {
	e, err := c.space.get(ctx, slotName(b.known.worker)) // a list may be old
	if err != nil {
		return err
	}
	found, err := parseRow(e)
	if err != nil || !found.behind(b.known) {
		if b.known.worker == c.number.worker {
			c.leaveNumber()
		}
		return ErrConflict
	}
	there, back, err := c.space.believe(ctx, found, b.known)
	if back == nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w; the slot could not be repaired: %w", back, err)
	}
	c.space.memory.note(there)
	return back
}
