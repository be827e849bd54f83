package uid

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// timeline is the ids of a generator's eras in the two forms that the package computes with. It is
// immutable, so any goroutine may use it without a lock.
//
// A number is an id without its gene bits, tick | worker | seq: what the ring and the lanes hold. A
// position is a number of worker 0: what one generator counts up. Both rise from era to era, so
// neither the ring nor a lane knows what the bits mean.
//
//	first                     end: the next era's first, or the end of all time bits
//	  │ tick │ tick │ ... │ tick │
//	  └─ seq ┘
//
//	            tick           worker         seq
//	number   [ 28 bits     | 22 bits     | 13 bits ]     of the default layout
//	position [ 28 bits     | 0           | 13 bits ]
//	id       [ the number                | gene    ]     gene: GeneBits wide, 0 by default
//
// A tick is written as its first position: the tick's bits, and zeros. All of them are below 1<<63,
// and an end is 1<<63 at the most, so an uint64 holds every sum that is computed here.
//
// A position and a number of one tick lie in one era, because an era begins at a tick's first
// position. So what takes a position takes a number as well, where its comment says so.
type timeline struct {
	eras      []era         // in the order of their positions, at least one
	geneBits  uint          // the same in all eras
	geneMask  uint64        // 1<<geneBits - 1
	maxWorker int64         // of the era with the fewest
	tick      time.Duration // of the era with the longest
}

// era is one layout of a timeline, with the shifts and masks of its fields.
type era struct {
	alloc     *bitsalloc.Allocator
	seqBits   uint   // also the place of the worker within a number
	tickShift uint   // the place of the tick within a number
	seqMask   uint64 // MaxSeq
	tickMask  uint64 // worker and sequence
	first     uint64 // the position of its first tick
	end       uint64 // the position after its last tick, 1<<63 at the most
	seqStart  uint64 // DefaultOptions.SeqStart
}

// newTimeline returns the timeline of some eras; seqStart is that of DefaultOptions, 0 for half of
// each era's sequence space. It allocates one slice and keeps the eras' allocators.
func newTimeline(eras *bitsalloc.Eras, seqStart int64) *timeline {
	all := eras.All()
	geneBits := uint(all[0].Layout().GeneBits)
	l := &timeline{geneBits: geneBits, geneMask: 1<<geneBits - 1, maxWorker: all[0].MaxWorker()}
	for i, a := range all {
		b := a.Layout()
		e := era{alloc: a, seqBits: uint(b.SeqBits), tickShift: uint(b.WorkerBits + b.SeqBits),
			seqMask: uint64(a.MaxSeq())}
		e.tickMask = 1<<e.tickShift - 1
		e.first = uint64(a.Layout().FirstTick) << e.tickShift
		end := a.MaxTick() + 1
		if i+1 < len(all) { // ticks that lie before the next era as a whole
			end = a.TickAt(all[i+1].Layout().Epoch)
		}
		e.end = uint64(end) << e.tickShift
		// Half, so that a tick that was jumped into has at least the other half to hand out.
		e.seqStart = (e.seqMask + 1) / 2
		if seqStart > 0 {
			e.seqStart = min(uint64(seqStart), e.seqMask+1)
		}
		l.eras = append(l.eras, e)
		l.maxWorker, l.tick = min(l.maxWorker, a.MaxWorker()), max(l.tick, b.Tick)
	}
	return l
}

// of returns the era of a position or a number. The newest era is looked at first: ids of older
// ones are composed no more once it has begun. A position before the first era is the first one's,
// one at or after the end the last one's.
func (l *timeline) of(pos uint64) *era {
	i := len(l.eras) - 1
	for i > 0 && pos < l.eras[i].first {
		i--
	}
	return &l.eras[i]
}

// end returns the position after the last tick of all.
func (l *timeline) end() uint64 { return l.eras[len(l.eras)-1].end }

// at returns the position of the tick that t lies in: the first one before all eras, the end after
// them. The rest of a tick that the next era cuts off belongs to that era's first tick. It never
// falls as t grows.
func (l *timeline) at(t time.Time) uint64 {
	i := len(l.eras) - 1
	for i > 0 && t.Before(l.eras[i].alloc.Layout().Epoch) {
		i--
	}
	e := &l.eras[i]
	tick := e.alloc.TickAt(t)
	if tick < e.alloc.Layout().FirstTick {
		return e.first
	}
	if pos := uint64(min(tick, e.alloc.MaxTick()+1)) << e.tickShift; pos < e.end {
		return pos
	}
	return l.after(i)
}

// after returns the position that follows the last tick of era i.
func (l *timeline) after(i int) uint64 {
	if i+1 < len(l.eras) {
		return l.eras[i+1].first
	}
	return l.eras[i].end
}

// next returns the position of the tick after pos's, the end at the most.
func (l *timeline) next(pos uint64) uint64 {
	i := len(l.eras) - 1
	for i > 0 && pos < l.eras[i].first {
		i--
	}
	if next := (pos | l.eras[i].tickMask) + 1; next < l.eras[i].end {
		return next
	}
	return l.after(i)
}

// tickOf returns how long the ticks of the era of pos are.
func (l *timeline) tickOf(pos uint64) time.Duration { return l.of(pos).alloc.Layout().Tick }

// before returns the tick of the number before that of a position or a number: its own tick, or the
// one before it if it is the tick's first. A number's worker bits are kept in neither.
func (l *timeline) before(pos uint64) uint64 {
	i := len(l.eras) - 1
	for i > 0 && pos < l.eras[i].first {
		i--
	}
	e := &l.eras[i]
	tick := pos &^ e.tickMask
	switch {
	case e.begun(pos):
		return tick
	case tick > e.first:
		return tick - (e.tickMask + 1)
	case i > 0:
		return l.eras[i-1].end - (l.eras[i-1].tickMask + 1)
	}
	return tick
}

// time returns when the tick of a position or a number begins, UTC. For the end it returns the
// first instant that the time bits do not hold.
func (l *timeline) time(pos uint64) time.Time {
	e := l.of(pos)
	return e.alloc.TimeAt(int64(pos >> e.tickShift))
}

// number returns the number of a position. The worker bits of a position are zero, so it sets them.
func (e *era) number(pos uint64, worker int64) uint64 { return pos | uint64(worker)<<e.seqBits }

// begun reports whether positions of pos's tick lie below pos, so that the tick may have ids.
func (e *era) begun(pos uint64) bool { return pos&e.seqMask > 0 }

// start returns the position at which the tick of pos starts after a jump: a hash of the tick and
// the worker id, spread over [0, SeqStart).
//
// Going on at the old number plus one would not do. Modulo 3, the default layout's 2^35 per tick is
// -1, so that a service that takes one id a tick would step by -1 + 1 = 0: all of its ids would
// fall on one of three shards. A hash has no such resonance with any modulus and any rate, needs no
// state, and gives the same ids in the same test twice.
func (e *era) start(pos uint64, worker int64) uint64 {
	return pos + mix(pos>>e.tickShift+uint64(worker)*0x9E3779B97F4A7C15)%e.seqStart
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// keyless returns the id of a number that is not made for a key. Its gene is the low bits of its
// own sequence number, so that such ids spread over the shards. The mask of geneBits tells the
// compiler that the shift is short.
func (l *timeline) keyless(n uint64) ID { return ID(n<<(l.geneBits&63) | n&l.geneMask) }

// spread gives ids with gene 0 the genes that keyless gives. It changes ids in place, after they
// were counted, so that counting needs no case for genes.
func (l *timeline) spread(ids []ID) {
	if l.geneMask == 0 {
		return
	}
	for i, id := range ids {
		ids[i] = l.keyless(uint64(id) >> l.geneBits)
	}
}

// carry gives ids with gene 0 the gene of key. Ids that differ before differ after: only bits that
// are zero in all of them change.
func (l *timeline) carry(ids []ID, key int64) {
	for i := range ids {
		ids[i] |= ID(key) & ID(l.geneMask)
	}
}
