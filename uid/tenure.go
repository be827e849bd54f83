package uid

import "github.com/uidring/uidring/internal/lanes"

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
func newTenure(k *codec, n int, g *grant, tick0 int64) *tenure {
	t := &tenure{lanes: make([]lane, n), tick0: tick0, worker: g.worker, base: g.base + tick0<<k.tickTo}
	t.first = &t.lanes[0]
	for i := range t.lanes {
		t.lanes[i].Word.Store(k.UsedUp())
	}
	return t
}

// pick returns the caller's lane.
func (t *tenure) pick() *lane { return &t.lanes[t.index()] }

// index returns the index of the caller's lane.
func (t *tenure) index() uint64 {
	return lanes.Pick(len(t.lanes), 0x9E3779B97F4A7C15)
}

// seal takes the runs away from all lanes, for good, and returns what was left of each: the word of the newest id handed
// out, or a used-up word.
func (t *tenure) seal(k *codec) []uint64 {
	rests := make([]uint64, len(t.lanes))
	for i := range t.lanes {
		l := &t.lanes[i]
		l.Mu.Lock()
		l.Sealed = true
		rests[i] = l.Empty(&k.Counter)
		l.Mu.Unlock()
	}
	return rests
}
