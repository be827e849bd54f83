package lease

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
)

const (
	// numberTries bounds how many notes an Assign tries to make, or how often it asks a Numberer,
	// before the next turn.
	numberTries = 32

	// crowd is among how many of the lowest unused worker ids a start takes one at random, when
	// many processes start at the same time, so that few of them meet. After the loss of a note it
	// is among growth times as many, up to mostAmong. The price is that worker ids are not used
	// strictly from the lowest on while a fleet starts.
	crowd, growth, mostAmong = 64, 4, 512
)

// number is how far an Assign has come with a new worker id.
//
// Without a Numberer the first process to make a worker id's note has it. Each turn makes the note
// again, because the store may have forgotten it since, and another process have the worker id: the
// note that is there says whose it is. A Numberer gives a worker id that is own, and is asked again
// each turn, or a list of unused ones, of which the first process to make the slot has the worker
// id.
type number struct {
	worker int64  // own, or with a note that may be made; none: no worker id
	token  string // of the note, which a Numberer's has not
	end    int64  // the earliest of the windows that its slot may have been made with; 0: none

	among int // among how many of the lowest unused ones the next is taken at random
}

// leave leaves the worker id alone.
func (n *number) leave() { n.worker, n.end = none, 0 }

// mayBeOver reports whether a change without an answer may have made the slot, and its window may
// have passed by now. Another process may have claimed the slot then, and an operator deleted it.
func (n *number) mayBeOver(now int64) bool { return n.end > 0 && n.end <= now }

// met takes note that another process makes new slots at the same time.
func (n *number) met() { n.among = min(max(crowd, growth*n.among), mostAmong) }

// create makes a slot for a worker id that no process has had.
//
// The header is read after the note was answered. So a worker id that a Restore before that read
// has listed as used gets no slot, and the window of another one begins behind its floor. The store
// of a later Restore may have forgotten the note. That does no harm: while the note was there, no
// other process could have the worker id.
func (c *claimer) create(ctx context.Context, v sight) (*attempt, error) {
	if c.space.numberer != nil {
		return c.createNumbered(ctx)
	}
	n := &c.number
	if err := c.takeNumber(ctx, v); err != nil {
		return nil, err
	}
	h, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.space.timeOf(ctx, h.entry)
	if err != nil {
		return nil, err
	}
	if h.Used.has(n.worker) || n.mayBeOver(now) {
		n.leave()
		return nil, ErrConflict
	}
	a, err := c.createSlot(ctx, h, n.worker, now, h.Floor)
	if errors.Is(err, ErrConflict) {
		n.leave() // the slot is there, and the next turn tells whether it is this claim's
	}
	return a, err
}

// takeNumber makes the note of an unused worker id, or again that of an earlier turn. It is
// ErrConflict if what v has is too old to find one, and assigner.ErrWorkersExhausted if there is
// none.
func (c *claimer) takeNumber(ctx context.Context, v sight) error {
	n := &c.number
	given := v.header.Used.union(usedOf(v.slots)).union(v.noted)
	known := false // given has all notes
	for lost := 0; lost < numberTries; {
		again := n.worker != none
		if !again {
			worker, ok := c.unusedOf(given)
			old := lost > 0 && (!ok || lost == tries)
			switch {
			case old && !c.space.apart():
				return ErrConflict // the next turn lists the notes
			case old && !known:
				noted, err := c.space.notes(ctx)
				if err != nil {
					return err
				}
				given, known = given.union(noted), true
				continue
			case !ok:
				return assigner.ErrWorkersExhausted
			}
			n.worker, n.token = worker, newToken()
		}
		err := c.space.note(ctx, n.worker, n.token)
		if !errors.Is(err, ErrConflict) {
			return err
		}
		if again || n.among == 1 { // it may be its own; among many the look costs more than an id
			if own, err := c.ownNote(ctx); err != nil || own {
				return err
			}
		}
		given = given.with(n.worker, n.worker+1)
		n.leave()
		if !again { // else it was lost earlier
			lost++
			n.met()
		}
	}
	return ErrConflict
}

// unusedOf returns a worker id of the range that is not in given, one of the lowest. ok reports
// whether there is one.
func (c *claimer) unusedOf(given used) (worker int64, ok bool) {
	for skip := rand.Int64N(int64(c.number.among)); ; skip /= 2 {
		worker, ok = given.unused(c.first, c.last, skip)
		if ok || skip == 0 {
			return worker, ok
		}
	}
}

// ownNote reports whether the note that is there is this Assign's.
func (c *claimer) ownNote(ctx context.Context) (bool, error) {
	e, err := c.space.get(ctx, noteName(c.number.worker))
	if err != nil {
		return false, err
	}
	var there note
	_ = json.Unmarshal(e.Value, &there) // what is no note has no token
	return there.Token == c.number.token, nil
}

// note makes the note of a worker id. It is ErrConflict if there is one.
func (s *space) note(ctx context.Context, worker int64, token string) error {
	_, err := s.put(ctx, Entry{Name: noteName(worker)}, encode(note{recordVersion, token}))
	return err
}

// createSlot makes the slot of a worker id, whose window begins at from or later. It is ErrConflict
// if there is one.
func (c *claimer) createSlot(
	ctx context.Context, h header, worker, now, from int64,
) (*attempt, error) {
	absent := row{worker: worker, entry: Entry{Name: slotName(worker)}}
	if known, ok := c.space.memory.row(worker); ok { // what says that there is no slot may be old
		return nil, &behindError{known}
	}
	if err := c.within(h, now, from); err != nil {
		return nil, err
	}
	return c.take(ctx, h, absent, now, max(from, c.space.memory.begin()))
}

// createNumbered makes the slot of a worker id that the Numberer knows.
//
// A process that is alone takes the lowest. After each loss it takes one at random among twice as
// many: processes that start together would all meet at the lowest, and wait for each other there.
func (c *claimer) createNumbered(ctx context.Context) (*attempt, error) {
	for range numberTries {
		earlier := c.number.worker
		unused, err := c.unused(ctx)
		if err != nil {
			return nil, err
		}
		h, err := c.current(ctx)
		if err != nil {
			return nil, err
		}
		now, err := c.space.timeOf(ctx, h.entry)
		if err != nil {
			return nil, err
		}
		if c.number.mayBeOver(now) {
			c.number.leave()
			continue
		}
		// A slot that an earlier try was to make may have been made, claimed by others and deleted.
		from := h.Floor
		if c.number.worker != none && c.number.worker == earlier {
			from = h.floor()
		}
		for range min(tries, len(unused)) {
			most := len(unused)
			i := rand.IntN(min(c.number.among, most))
			worker := unused[i]
			unused = slices.Delete(unused, i, i+1)
			a, err := c.createSlot(ctx, h, worker, now, from)
			if !errors.Is(err, ErrConflict) {
				return a, err
			}
			c.number.among = min(max(crowd, 2*c.number.among), most)
		}
		if c.number.worker == none {
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
		"place", place(c.space.store), "worker", c.number.worker)
	c.number.leave()
}

// unused returns worker ids of the range that have no slot: one that is own, or several times as
// many as processes seem to start at the same time.
func (c *claimer) unused(ctx context.Context) (ids []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if c.number.worker != none { // from an earlier try, or left over by an earlier Assign
		own, err := c.space.numberer.Owns(ctx, c.number.worker)
		if err != nil {
			return nil, err
		}
		if own {
			return c.ownNumber()
		}
		c.number.leave()
	}
	ids, own, err := c.space.numberer.Number(ctx, c.first, c.last, 4*max(crowd, c.number.among))
	if err != nil {
		return nil, err
	}
	if own {
		c.number.worker = ids[0]
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
	if c.number.worker > c.last {
		return nil, fmt.Errorf("%w: the new worker id is %d, the highest is %d; wait for a "+
			"worker id to be free, or use a layout with more WorkerBits",
			assigner.ErrWorkersExhausted, c.number.worker, c.last)
	}
	return []int64{c.number.worker}, nil
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
	rows := v.slots
	if c.space.index != nil {
		_, entries, err := c.space.look(ctx, Query{First: c.first, Last: c.last, Limit: tries,
			Reserved: true})
		if err != nil {
			return nil, err
		}
		rows = c.space.slots(entries)
	}
	now, err := c.space.timeOf(ctx, v.header.entry)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(r row) bool {
		return r.worker < c.first || r.worker > c.last
	})
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Until, b.Until) })
	for _, r := range rows[:min(tries, len(rows))] {
		e, err := c.space.get(ctx, slotName(r.worker)) // another session may hold it
		r, bad := parseRow(e)
		if err == nil && bad == nil && r.exists() && r.Until <= now {
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
		which := "all"
		if gone := c.last - c.first + 1 - int64(len(rows)); c.space.index != nil {
			which = "all slots" // an index has not shown all of them
		} else if gone > 0 {
			which = fmt.Sprintf("%d have no slot and are not given out again, all others", gone)
		}
		err = fmt.Errorf("%s of the worker ids %d to %d are reserved, the first until %v, "+
			"for another %v; wait for it, or use a shorter Window or a layout with more WorkerBits",
			which, c.first, c.last, millis(rows[0].Until),
			time.UnixMilli(rows[0].Until).Sub(time.UnixMilli(now)))
	}
	return nil, fmt.Errorf("%w: %w", cause, err)
}
