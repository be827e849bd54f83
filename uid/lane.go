package uid

import (
	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/internal/lanes"
)

// lane is where callers get their ids: a lanes.Lane on cache lines of its own, whose runs are those of the ring.
//
//	63                                                                 0
//	+----------------------+-------+-----------------------+-----------+
//	|   tick - base tick   |  run  |  headroom, 0: valid   |  offset   |
//	+----------------------+-------+-----------------------+-----------+
//	                                                         log2(RunLength)
//
// Tick and run say which run the lane is in, offset which of its RunLength ids is the newest one handed out. The rest of a run
// is only ever taken away under Mu: by expire when it grows too old, and by seal.
type lane struct {
	_ cpu.CacheLinePad
	_ cpu.CacheLinePad // the adjacent-line prefetcher pairs lines

	lanes.Lane
	skip int64 // guarded by Mu: how many ids of its next run the lane passes over

	_ cpu.CacheLinePad
	_ cpu.CacheLinePad
}

// codec translates between ids and lane words. It is read-only.
type codec struct {
	lanes.Counter        // of RunLength
	runMask       uint64 // mask of the run's bits within a sequence number: SeqMask &^ Offset
	tickAt        uint8  // position of the tick in a word
	tickTo        uint8  // position of the tick in an id
	runDown       uint8  // from the run's position in a word to the one in a sequence number
	geneBits      uint8
	ticks         int64 // how many ticks a word can tell apart; what is beyond needs a new tenure
}

// newCodec divides 64 bits: the counter gets what tick and run leave over, but no less than lanes.MinCounter, in which case
// the tick is stored relative to a base that has to move now and then.
func newCodec(timeBits, timeShift, seqBits, runBits, geneBits int) codec {
	counter := max(lanes.MinCounter, 64-timeBits-(seqBits-runBits))
	tickAt := counter + seqBits - runBits
	c := lanes.NewCounter(counter, runBits)
	return codec{
		Counter:  c,
		runMask:  (1<<seqBits - 1) &^ c.Offset,
		tickAt:   uint8(tickAt),
		tickTo:   uint8(timeShift),
		runDown:  uint8(counter - runBits),
		geneBits: uint8(geneBits),
		ticks:    1 << min(62, 64-tickAt),
	}
}

// word returns the word of the id with gene 0 that has the given tick, relative to the base, and sequence number.
func (k *codec) word(tick, seq int64) uint64 {
	return uint64(tick)<<k.tickAt | (uint64(seq)&k.runMask)<<k.runDown | uint64(seq)&k.Offset
}

// id returns the id of w, which stands for one, for a layout without genes: base is the id of the base tick and worker.
// The shifts are masked to spare the compiler's test for 64 and more.
func (k *codec) id(base int64, w uint64) int64 {
	return base + int64(w>>(k.tickAt&63)<<(k.tickTo&63)) + int64(w>>(k.runDown&63)&k.runMask|w&k.Offset)
}

// geneID is id for a layout with genes. The gene is 0.
func (k *codec) geneID(base int64, w uint64) int64 {
	return base + int64(w>>(k.tickAt&63)<<(k.tickTo&63)) + int64(w>>(k.runDown&63)&k.runMask|w&k.Offset)<<(k.geneBits&63)
}

// tick returns the tick of w relative to the base.
func (k *codec) tick(w uint64) int64 { return int64(w >> k.tickAt) }

// expire takes the rest of the run away if its tick, relative to the base, is below limit. It reports whether the lane is
// without a run afterwards. The caller holds Mu.
func (l *lane) expire(k *codec, limit int64) bool {
	w := l.Word.Load()
	if k.Left(w) == 0 {
		return true
	}
	if k.tick(w) >= limit {
		return false
	}
	l.Empty(&k.Counter)
	return true
}
