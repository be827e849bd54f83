package uid

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// lane is where callers get their ids: one word on a cache line of its own, and one atomic add for each id.
//
//	63                                                                 0
//	+----------------------+-------+-----------------------+-----------+
//	|   tick - base tick   |  run  |  headroom, 0: valid   |  offset   |
//	+----------------------+-------+-----------------------+-----------+
//	                                                         log2(RunLength)
//
// The word stands for the newest id handed out. Tick and run say which run the lane is in, offset which of its
// RunLength ids. A caller adds one; the sum is his. If it has no bit in the headroom, it stands for an id inside the run,
// and the id is his alone, as no other add returns the same sum. If it has, the run was used up before him.
//
//	            add: headroom 0                      add: headroom not 0
//	           ┌──────────────┐                       ┌──────────────┐
//	           ▼              │    the run's last id  ▼              │
//	refill ► [ inside a run   ]──────────────────► [ used up         ]
//	           ▲              │                       ▲              │
//	           │              └─ expire, seal: Swap ──┘              │
//	           └──────────────── refill: Store ──────────────────────┘
//
// Owners: anyone may add at any time. The holder of mu alone may do more: take the rest of a run away (Swap to usedUp;
// what the swap returned tells which ids were left, and they are the swapper's), or begin a new run (Store, and only over
// a used-up word, so that the store overwrites nothing but failed adds). The Store publishes the run: its ids are taken out
// of the ring, which is what makes them the lane's.
//
// Overflow: a failed add leaves its trace in the headroom, which must not spill into run and tick. Whoever added in vain
// takes mu and, if the lane is still used up, clears the headroom before anything else; so the headroom counts at most
// the goroutines that are between their add and that. It has room for 2^31 - 1 of them at the least, 4 TiB of stacks.
type lane struct {
	_ cpu.CacheLinePad
	_ cpu.CacheLinePad // the adjacent-line prefetcher pairs lines

	word atomic.Uint64

	// Used once a run.
	mu     sync.Mutex // nothing is waited for while it is held
	skip   int64      // guarded by mu: how many ids of its next run the lane passes over
	sealed bool       // guarded by mu: the lane gets no further run

	_ cpu.CacheLinePad
	_ cpu.CacheLinePad
}

// codec translates between ids and lane words. It is read-only.
type codec struct {
	headroom uint64 // mask of the headroom
	offMask  uint64 // mask of the offset
	runMask  uint64 // mask of the run's bits within a sequence number: SeqMask &^ offMask
	tickAt   uint8  // position of the tick in a word
	tickTo   uint8  // position of the tick in an id
	runDown  uint8  // from the run's position in a word to the one in a sequence number
	geneBits uint8
	ticks    int64 // how many ticks a word can tell apart; what is beyond needs a new tenure
}

// minCounter is the least width of offset and headroom together: see overflow above.
const minCounter = 32

// newCodec divides 64 bits: the counter gets what tick and run leave over, but no less than minCounter, in which case
// the tick is stored relative to a base that has to move now and then.
func newCodec(timeBits, timeShift, seqBits, runBits, geneBits int) codec {
	counter := max(minCounter, 64-timeBits-(seqBits-runBits))
	tickAt := counter + seqBits - runBits
	off := uint64(1)<<runBits - 1
	return codec{
		headroom: (1<<counter - 1) &^ off,
		offMask:  off,
		runMask:  (1<<seqBits - 1) &^ off,
		tickAt:   uint8(tickAt),
		tickTo:   uint8(timeShift),
		runDown:  uint8(counter - runBits),
		geneBits: uint8(geneBits),
		ticks:    1 << min(62, 64-tickAt),
	}
}

// usedUp is a word without a run: whatever is added to it, the headroom is not 0.
func (k *codec) usedUp() uint64 { return k.offMask + 1 }

// inside reports whether w stands for an id.
func (k *codec) inside(w uint64) bool { return w&k.headroom == 0 }

// left returns how many ids a lane whose word is w has still to hand out.
func (k *codec) left(w uint64) int64 {
	if w&k.headroom != 0 {
		return 0
	}
	return int64(k.offMask - w&k.offMask)
}

// word returns the word of the id with gene 0 that has the given tick, relative to the base, and sequence number.
func (k *codec) word(tick, seq int64) uint64 {
	return uint64(tick)<<k.tickAt | (uint64(seq)&k.runMask)<<k.runDown | uint64(seq)&k.offMask
}

// id returns the id of w, which stands for one, for a layout without genes: base is the id of the base tick and worker.
// The shifts are masked to spare the compiler's test for 64 and more.
func (k *codec) id(base int64, w uint64) int64 {
	return base + int64(w>>(k.tickAt&63)<<(k.tickTo&63)) + int64(w>>(k.runDown&63)&k.runMask|w&k.offMask)
}

// geneID is id for a layout with genes. The gene is 0.
func (k *codec) geneID(base int64, w uint64) int64 {
	return base + int64(w>>(k.tickAt&63)<<(k.tickTo&63)) + int64(w>>(k.runDown&63)&k.runMask|w&k.offMask)<<(k.geneBits&63)
}

// tick returns the tick of w relative to the base.
func (k *codec) tick(w uint64) int64 { return int64(w >> k.tickAt) }

// takeN claims up to n consecutive ids at once and returns the word of the first of them and their number, 0 when the
// lane is used up. It adds nothing in vain, unlike Next: n failed adds of many would use the headroom up.
func (l *lane) takeN(k *codec, n int64) (first uint64, got int64) {
	for {
		w := l.word.Load()
		if got = min(n, k.left(w)); got == 0 {
			return 0, 0
		}
		// A failure means that others took ids: they make progress.
		if l.word.CompareAndSwap(w, w+uint64(got)) {
			return w + 1, got
		}
	}
}

// idle prepares a used-up lane for a new run and reports whether it is one: the headroom is cleared. The caller holds mu.
func (l *lane) idle(k *codec) bool {
	// Adds that come between the two lines fail as well: nothing but the holder of mu brings a lane back into a run.
	if k.left(l.word.Load()) > 0 {
		return false
	}
	l.word.Store(k.usedUp())
	return true
}

// expire takes the rest of the run away if its tick, relative to the base, is below limit. It reports whether the lane is
// without a run afterwards. The caller holds mu.
func (l *lane) expire(k *codec, limit int64) bool {
	w := l.word.Load()
	if k.left(w) == 0 {
		return true
	}
	if k.tick(w) >= limit {
		return false
	}
	l.word.Swap(k.usedUp())
	return true
}
