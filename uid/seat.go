package uid

import "sync/atomic"

// seats spreads callers over lanes: a table from a hash of the caller's stack address to a lane. A
// goroutine keeps its seat while its stack stays where it is and its calls come from one depth. A
// changed or a shared lane costs time, never uniqueness.
//
// There are more seats than lanes, because goroutines that share a seat cannot be told apart, while
// those that share a lane can: a seat that keeps meeting others on its lane moves to the lane that
// has waited longest for a refill.
//
//	stack address ── hash ──► seat ── table ──► lane
//	                           0 ──────────────► lane 0
//	                           1 ──────────────► lane 1
//	                           2 ── moved ─────► lane 3, for one
//
// A move is one store. A caller that loaded the old lane takes from it once more, which is as good
// as any other lane.
type seats struct {
	table []atomic.Pointer[lane] // any goroutine may store, in move
	mask  uint64                 // len(table)-1; 0: one lane, which needs no table
	turns []turn                 // by lane
}

// turn says who refills a lane. Two callers that refill it at once may lose a change, which moves a
// seat later. Nothing is stored while one caller has the lane, so that lanes may share cache lines.
type turn struct {
	seat  atomic.Uint64 // whose caller refilled the lane last
	score atomic.Int64  // how often that has changed lately; see seats.note
}

const (
	// Eight seats a lane: goroutines that share a seat cannot be told apart, and the chance that
	// two of them do falls with the number of seats. docs/concurrency.md has the shares in a
	// simulation.
	seatsPerLane = 8

	// A lane's score goes up by two for a refill from another seat than the one before and down by
	// one for a refill from the same seat. Two busy seats reach the limit in about 2*moveScore
	// refills; a stack that moves once or twice does not.
	moveScore = 16
)

// newSeats returns a table in which every lane has equally many seats. The number of lanes is a
// power of two, and so is the table's length, so that a mask picks a seat. One lane needs no table:
// the zero seats, whose mask is 0.
func newSeats(lanes []lane) seats {
	if len(lanes) == 1 {
		return seats{}
	}
	n := seatsPerLane * len(lanes)
	s := seats{table: make([]atomic.Pointer[lane], n), mask: uint64(n - 1),
		turns: make([]turn, len(lanes))}
	for i := range s.table {
		s.table[i].Store(&lanes[i%len(lanes)])
	}
	return s
}

// of returns the seat of a caller that has a variable at the address in its frame. Stacks are at
// least 2 KiB apart. The multiplier is 2^64 divided by the golden ratio, so that neighbouring
// stacks get seats far apart (Knuth, The Art of Computer Programming, volume 3, 6.4).
func (s *seats) of(address uintptr) uint64 {
	return uint64(address) >> 11 * 0x9E3779B97F4A7C15 >> 32 & s.mask
}

// lane returns a seat's lane. Next pays for it with one load, of a word that rarely changes.
func (s *seats) lane(seat uint64) *lane { return s.table[seat].Load() }

// note records that seat refilled l, and reports whether the seat should move because others refill
// the same lane in turn with it. It is called once a run, so callers pay nothing for it between
// refills.
func (s *seats) note(l *lane, seat uint64) (move bool) {
	if s.mask == 0 {
		return false
	}
	t := &s.turns[l.index]
	if t.seat.Load() == seat {
		if score := t.score.Load(); score > 0 {
			t.score.Store(score - 1)
		}
		return false
	}
	t.seat.Store(seat)
	if t.score.Add(2) < moveScore {
		return false
	}
	t.score.Store(0)
	return true
}

// move gives the seat the lane with the lowest end. Runs rise over all lanes, so that is the lane
// whose last refill is longest ago. Two seats that move at once may get the same lane; one of them
// moves again then.
func (s *seats) move(lanes []lane, seat uint64) {
	idle := &lanes[0]
	for i := range lanes {
		if lanes[i].end.Load() < idle.end.Load() {
			idle = &lanes[i]
		}
	}
	s.table[seat].Store(idle)
}
