package uid

import "github.com/uidring/uidring/internal/caller"

// tenure is a set of lanes that share a worker id and a base tick, which is all that lane words leave out. It ends when
// the worker id changes, or when the ticks get too far from the base for a word to hold: the padder then seals the lanes and
// publishes the next tenure. A caller who still has the old one can only take what is left of its runs, and those ids are
// as good as before.
type tenure struct {
	base   int64 // the id of (tick0, worker, seq 0)
	first  *lane // &lanes[0]
	lanes  []lane
	tick0  int64 // the base tick
	worker int64
}

// newTenure returns a tenure whose lanes are all used up.
func newTenure(k *codec, lanes int, g *grant, tick0 int64) *tenure {
	t := &tenure{lanes: make([]lane, lanes), tick0: tick0, worker: g.worker, base: g.base + tick0<<k.tickTo}
	t.first = &t.lanes[0]
	for i := range t.lanes {
		t.lanes[i].word.Store(k.usedUp())
	}
	return t
}

// pick returns the caller's lane.
func (t *tenure) pick() *lane { return &t.lanes[t.index()] }

// index returns the index of the caller's lane. A shared or a changed lane costs time, never uniqueness.
func (t *tenure) index() uint64 {
	return caller.Hash() >> 32 & uint64(len(t.lanes)-1)
}

// seal takes the runs away from all lanes, for good, and returns what was left of each: the word of the newest id handed
// out, or a used-up word.
func (t *tenure) seal(k *codec) []uint64 {
	rests := make([]uint64, len(t.lanes))
	for i := range t.lanes {
		l := &t.lanes[i]
		l.mu.Lock()
		l.sealed = true
		rests[i] = l.word.Swap(k.usedUp())
		l.mu.Unlock()
	}
	return rests
}
