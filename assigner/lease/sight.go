package lease

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// candidates is how many free slots an Assign chooses the first from that it tries, those that
	// have been free for longest, and how many it asks an Index for.
	candidates = 128

	// ahead is how far beyond the local clock a free slot may end. A slot that ends later is free
	// only because the store's clock is ahead, and its next owner has no ids until then.
	ahead = time.Minute
)

// sight is what a claimer sees of a store before it chooses. It may be old: every choice is settled
// by a compare-and-set.
type sight struct {
	header header
	noted  used  // worker ids of notes, of those stores whose List has them
	slots  []row // all of them; from an Index those of the range that are free, or a part of them
	unseen bool  // the Index did not show the header, and it was read or made after the slots
}

// look reads the header and the slots. If the header lacks layouts of the claim, or is not there,
// look adds them first. A list that may be old counts only if it shows the header: such a list
// lacks no slot from before.
func (c *claimer) look(ctx context.Context) (v sight, err error) {
	for range tries {
		v, err = c.see(ctx)
		if err == nil && c.space.sealStays(v.header) != nil {
			_, err = c.space.header(ctx) // what was seen may be old
		}
		if err == nil && !v.header.exists() {
			v.header, err = c.addHeader(ctx, v.slots)
			v.unseen = true
			if err == nil && c.space.index == nil && !c.space.fresh {
				continue
			}
		}
		if err == nil {
			v.header, err = c.space.compare(v.header)
		}
		if err == nil { // before the header is changed, which makes it a later one
			v.header, err = c.space.listed(ctx, v.header, v.slots)
		}
		switch {
		case err != nil || !v.header.exists():
		case v.header.Universe == "": // of an earlier version
			_, err = c.space.putHeader(ctx, v.header)
		case v.header.lacks:
			err = c.space.addLayouts(ctx)
		default:
			return v, nil
		}
		if err != nil && !errors.Is(err, ErrConflict) {
			return v, err
		}
	}
	return v, ErrConflict
}

// see reads the header and the slots once.
func (c *claimer) see(ctx context.Context) (v sight, err error) {
	if c.space.index == nil {
		entries, err := c.space.list(ctx)
		if err != nil {
			return v, err
		}
		v.slots, v.noted = c.space.slots(entries), notesOf(entries)
		v.header, err = c.space.headerOf(entries)
		return v, err
	}
	// A check that is not the first leaves slots out at random, so that processes which see the
	// same slots part.
	q := Query{First: c.first, Last: c.last, Limit: candidates}
	if c.skip > 0 {
		q.Skip = rand.IntN(c.skip)
	}
	h, entries, err := c.space.look(ctx, q)
	if err == nil && len(entries) == 0 && q.Skip > 0 { // fewer are free than were left out
		c.skip, q.Skip = 0, 0
		h, entries, err = c.space.look(ctx, q)
	}
	if err != nil {
		return v, err
	}
	v.slots = c.space.slots(entries)
	v.header, err = c.space.parseHeader(h)
	return v, err
}

// free returns slots of the range whose window has passed by now, in Unix milliseconds, in the
// order of choose. Slots that other sessions hold cost patience each time, so they are left out. So
// are those that end ahead of the local clock, which are worse than a new worker id and better than
// none: see exhausted.
func (c *claimer) free(slots []row, now int64) (passed []row) {
	limit := min(now, c.space.local().Add(ahead).UnixMilli())
	for _, r := range slots {
		if r.worker >= c.first && r.worker <= c.last && r.Until <= limit && !c.busy[r.worker] {
			passed = append(passed, r)
		}
	}
	return choose(passed)
}

// choose returns slots in the order in which they are tried: one of those that have been free for
// longest at random, and then all others at random. A process that loses the first one to another
// starts together with many.
func choose(slots []row) []row {
	slices.SortFunc(slots, func(a, b row) int { return cmp.Compare(a.Until, b.Until) })
	swap := func(i, j int) { slots[i], slots[j] = slots[j], slots[i] }
	if n := min(candidates, len(slots)); n > 0 {
		swap(0, rand.IntN(n))
		rand.Shuffle(len(slots)-1, func(i, j int) { swap(i+1, j+1) })
	}
	return slots
}
