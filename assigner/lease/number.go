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
	"github.com/uidring/uidring/internal/backoff"
)

const (
	// Pauses after conflicts over a number grow by a half each time, from the first to the last,
	// and each is cut at random. They grow to slowly times what the last try took if that is more:
	// a store is slow because many wait for it, and the fewer come back at once, the sooner each
	// has its number. In TestFleetRequests 200 processes that start at once on a new store make 11
	// requests each.
	firstForNumber, lastForNumber = 5 * time.Millisecond, 4 * time.Second
	slowly                        = 4

	// numberTries bounds how often an Assign tries to mark a worker id, or asks a Numberer, before
	// the next turn.
	numberTries = 32

	// crowd is among how many of the lowest worker ids of a Numberer a start takes one at random,
	// when many processes start at the same time, so that few of them meet. The price is that
	// worker ids are not used strictly from the lowest on while a fleet starts.
	crowd = 64
)

// number is how far an Assign has come with a new worker id.
//
// Without a Numberer the header lists the worker ids that have been given out. The lowest that is
// not in the list is marked there with a compare-and-set, and is own from then on. A Numberer gives
// a worker id that is own at once, or a list of unused ones, of which the first process to make the
// slot has the worker id.
type number struct {
	own       int64  // a worker id that is this Assign's alone and has no slot yet, or none
	marked    string // token of a write of the header whose outcome is unknown; empty: none
	markedOwn int64  // the worker id that this write marks

	among int // among how many of the lowest unused ones the next is taken at random
}

// met takes note that another process makes new slots at the same time.
func (n *number) met() { n.among = crowd }

// create makes a slot for a worker id that no process has had.
func (c *claimer) create(ctx context.Context, v sight) (*attempt, error) {
	if c.space.numberer != nil {
		return c.createNumbered(ctx)
	}
	n, h := &c.number, v.header
	if n.marked != "" && n.marked == h.Token {
		n.own = n.markedOwn
	}
	n.marked = ""
	if n.own == none {
		var err error
		if h, err = c.mark(ctx, h); err != nil {
			return nil, err
		}
	}
	a, err := c.createSlot(ctx, h, n.own, h.Floor)
	if errors.Is(err, ErrConflict) {
		n.own = none // the slot is there, and the next turn tells whether it is this claim's
	}
	return a, err
}

// createSlot makes the slot of a worker id, whose window begins at from or later. It is ErrConflict
// if there is one.
func (c *claimer) createSlot(
	ctx context.Context, h header, worker, from int64,
) (*attempt, error) {
	absent := row{worker: worker, entry: Entry{Name: slotName(worker)}}
	if known, ok := c.space.memory.row(worker); ok { // what says that there is no slot may be old
		return nil, &behindError{known}
	}
	now, err := c.space.timeOf(ctx, h.entry)
	if err != nil {
		return nil, err
	}
	if err := c.within(h, now, from); err != nil {
		return nil, err
	}
	return c.take(ctx, h, absent, now, max(from, c.space.memory.begin()))
}

// mark takes the lowest worker id of the range that is not used, and marks it as used in the
// header, which it returns. Processes that start at once contend for the header, so after a
// conflict only the header is read again, not the slots.
func (c *claimer) mark(ctx context.Context, h header) (header, error) {
	layout, pause := h.Layout, firstForNumber
	for i := range numberTries {
		worker, ok := h.Used.lowest(c.first, c.last)
		switch {
		case !ok && i > 0:
			return h, ErrConflict // the slots are old, and one may be free by now
		case !ok:
			return h, assigner.ErrWorkersExhausted
		}
		h.Used = h.Used.with(worker, worker+1)
		began := time.Now()
		put, err := c.space.putHeader(ctx, h)
		if err == nil {
			c.number.own = worker
			return put, nil
		}
		c.number.marked, c.number.markedOwn = put.Token, worker
		if !errors.Is(err, ErrConflict) {
			return h, err
		}
		pause = min(max(pause+pause/2, slowly*time.Since(began)), lastForNumber)
		if !backoff.Wait(ctx, rand.N(pause)) {
			return h, ctx.Err()
		}
		if h, err = c.space.header(ctx); err != nil {
			return h, err
		}
		switch {
		case h.Token == c.number.marked:
			c.number.own = worker // the conflict was with its own write, as when it was sent twice
			return h, nil
		case h.entry.Version == "" || h.Layout != layout:
			return h, ErrConflict
		}
	}
	return h, ErrConflict
}

// createNumbered makes the slot of a worker id that the Numberer knows.
//
// A process that is alone takes the lowest. After each loss it takes one at random among twice as
// many: processes that start together would all meet at the lowest, and wait for each other there.
func (c *claimer) createNumbered(ctx context.Context) (*attempt, error) {
	for range numberTries {
		earlier := c.number.own
		unused, err := c.unused(ctx)
		if err != nil {
			return nil, err
		}
		h, err := c.current(ctx)
		if err != nil {
			return nil, err
		}
		// A worker id that is own since before may have had a slot, an owner after that, and lost
		// both.
		from := h.Floor
		if c.number.own != none && c.number.own == earlier {
			from = h.floor()
		}
		for range min(tries, len(unused)) {
			most := len(unused)
			i := rand.IntN(min(c.number.among, most))
			worker := unused[i]
			unused = slices.Delete(unused, i, i+1)
			a, err := c.createSlot(ctx, h, worker, from)
			if !errors.Is(err, ErrConflict) {
				return a, err
			}
			c.number.among = min(max(crowd, 2*c.number.among), most)
		}
		if c.number.own == none {
			break
		}
		c.leaveNumber()
	}
	return nil, ErrConflict
}

// leaveNumber leaves the worker id that is own alone, which has a slot.
func (c *claimer) leaveNumber() {
	c.space.options.Logger.Warn("new worker id has a lease already and is left alone; did the "+
		"store forget which worker ids it gave out?",
		"place", place(c.space.store), "worker", c.number.own)
	c.number.own = none
}

// unused returns worker ids of the range that have no slot: one that is own, or several times as
// many as processes seem to start at the same time.
func (c *claimer) unused(ctx context.Context) (ids []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if c.number.own != none { // from an earlier try, or left over by an earlier Assign
		own, err := c.space.numberer.Owns(ctx, c.number.own)
		if err != nil {
			return nil, err
		}
		if own {
			return c.ownNumber()
		}
		c.number.own = none
	}
	ids, own, err := c.space.numberer.Number(ctx, c.first, c.last, 4*max(crowd, c.number.among))
	if err != nil {
		return nil, err
	}
	if own {
		c.number.own = ids[0]
		return c.ownNumber()
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return c.busy[id] })
	if len(ids) == 0 {
		return nil, assigner.ErrWorkersExhausted
	}
	return ids, nil
}

// ownNumber returns the worker id that is own. If it is above the range, because others were faster
// or the store has skipped some, it is kept for an Assign with a wider layout.
func (c *claimer) ownNumber() ([]int64, error) {
	if c.number.own > c.last {
		return nil, fmt.Errorf("%w: the new worker id is %d, the highest is %d; wait for a "+
			"worker id to be free, or use a layout with more WorkerBits",
			assigner.ErrWorkersExhausted, c.number.own, c.last)
	}
	return []int64{c.number.own}, nil
}

// current returns the header as it is, so that no worker id is used up for a layout that has been
// superseded since it was read.
func (c *claimer) current(ctx context.Context) (header, error) {
	h, err := c.space.header(ctx)
	if err != nil {
		return h, err
	}
	if h.entry.Version == "" || h.lacks {
		return h, ErrConflict // the next turn says what is to be done
	}
	now, err := c.space.timeOf(ctx, h.entry)
	if err == nil && h.cut > 0 && now >= h.cut {
		err = c.space.superseded(h)
	}
	return h, err
}

// exhausted ends the search for a worker id, of which cause says that there is no new one. It
// returns slots that are free after all: what showed them reserved may be old, so those that end
// first are read again. Else the error says when the first one is free.
func (c *claimer) exhausted(ctx context.Context, v sight, cause error) (free []row, err error) {
	rows, at := v.slots, v.header.entry
	if c.space.index != nil {
		h, entries, err := c.space.look(ctx, Query{First: c.first, Last: c.last, Limit: tries,
			Reserved: true})
		if err != nil {
			return nil, err
		}
		rows, at = c.space.slots(entries), h
	}
	now, err := c.space.timeOf(ctx, at)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		return r.worker < c.first || r.worker > c.last
	})
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Until, b.Until) })
	for _, r := range rows[:min(tries, len(rows))] {
		e, err := c.space.get(ctx, slotName(r.worker))
		if err != nil {
			break // another session may hold it
		}
		if r, err := parseRow(e); err == nil && r.exists() && r.Until <= now {
			free = append(free, r)
		}
	}
	switch {
	case len(free) > 0:
		return free, nil
	case len(rows) == 0 || rows[0].Until == maxMillis:
		err = fmt.Errorf("the worker ids %d to %d have been given out, and %d of their slots are "+
			"there; a slot that was deleted is not given again", c.first, c.last, len(rows))
	default:
		err = fmt.Errorf("all of the worker ids %d to %d are reserved, the first until %v, "+
			"for another %v; wait for it, or use a shorter Window or a layout with more WorkerBits",
			c.first, c.last, millis(rows[0].Until),
			time.UnixMilli(rows[0].Until).Sub(time.UnixMilli(now)))
	}
	return nil, fmt.Errorf("%w: %w", cause, err)
}
