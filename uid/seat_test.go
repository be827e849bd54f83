package uid

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/uidring/uidring/internal/claimtest"
)

// stacks returns the addresses of variables in n goroutines' frames: stacks of 8 KiB at random
// places of a few arenas, the frame somewhere near a stack's top.
func stacks(r *rand.Rand, n int) []uintptr {
	taken := map[uintptr]bool{}
	var all []uintptr
	for len(all) < n {
		at := 0x8000000 + uintptr(r.IntN(4))<<26 + uintptr(r.IntN(1<<13))<<13
		if !taken[at] {
			taken[at] = true
			all = append(all, at+8192-uintptr(200+r.IntN(600)))
		}
	}
	return all
}

// sharing returns how many of the goroutines on the given seats share their lane with another one.
func sharing(s *seats, at []uint64) (n int) {
	users := map[*lane]int{}
	for _, seat := range at {
		users[s.lane(seat)]++
	}
	for _, seat := range at {
		if users[s.lane(seat)] > 1 {
			n++
		}
	}
	return n
}

// TestSeatsMoveApart simulates as many busy goroutines as processors on the lanes that AutoLanes
// gives, before and after lanes that are shared for long are left. docs/concurrency.md has the
// figures.
func TestSeatsMoveApart(t *testing.T) {
	t.Parallel()
	const trials, refills = 200 / slow, 200
	for _, procs := range []int{2, 8, 16, 64, 128} {
		r := rand.New(rand.NewPCG(1, uint64(procs)))
		var before, after, sameSeat int
		for range trials {
			lanes := newLanes(autoLanes(procs))
			s := newSeats(lanes)
			at := make([]uint64, procs)
			seen := map[uint64]int{}
			for i, p := range stacks(r, procs) {
				at[i] = s.of(p)
				seen[at[i]]++
			}
			for _, seat := range at {
				if seen[seat] > 1 {
					sameSeat++
				}
			}
			before += sharing(&s, at)
			end := uint64(0)
			for range refills * procs {
				seat := at[r.IntN(procs)] // the next one that finds its run used up
				l := s.lane(seat)
				end += 512
				l.end.Store(end)
				if s.note(l, seat) {
					s.move(lanes, seat)
				}
			}
			after += sharing(&s, at)
		}
		percent := func(n int) string { return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(trials*procs)) }
		t.Logf("%3d processors, %4d lanes: %s share a lane at first, %s after %d refills each; %s share a seat",
			procs, autoLanes(procs), percent(before), percent(after), refills, percent(sameSeat))
		if after > sameSeat+trials*procs/200 {
			t.Errorf("%d processors: %d of %d goroutines share a lane, and only %d a seat",
				procs, after, trials*procs, sameSeat)
		}
	}
}

// TestSeatKept: a goroutine that has a lane to itself keeps it, also when its stack moves now and
// then.
func TestSeatKept(t *testing.T) {
	t.Parallel()
	lanes := newLanes(16)
	s := newSeats(lanes)
	l := &lanes[3]
	for i := range 1000 {
		seat := uint64(3)
		if i%100 == 0 {
			seat = 3 + 16
		}
		if s.note(l, seat) {
			t.Fatalf("refill %d of a lane that nobody else uses wants to move", i)
		}
	}
}

// TestSeatOne: one lane needs no seats.
func TestSeatOne(t *testing.T) {
	t.Parallel()
	lanes := newLanes(1)
	s := newSeats(lanes)
	if s.table != nil || s.mask != 0 {
		t.Error("one lane has a table of seats")
	}
	for seat := range uint64(100) {
		if s.note(&lanes[0], seat) {
			t.Fatal("a caller of the only lane wants to move")
		}
	}
}

// TestSeatsInUse has two callers whose seats share a lane refill it in turn: one of them moves, and
// no id is lost or handed out twice.
func TestSeatsInUse(t *testing.T) {
	t.Parallel()
	c := Open(t, NewCachedAt, claimtest.Static(1), Both{Lanes: 8, RunLength: 16, SeqStart: 1}, NewTestClock())
	at := [2]uint64{3, 3 + 8}
	if c.laneOf(at[0]) != c.laneOf(at[1]) {
		t.Fatal("the two seats have lanes of their own")
	}
	seen := map[ID]bool{}
	turns := 0
	for ; turns < 4*moveScore && c.laneOf(at[0]) == c.laneOf(at[1]); turns++ {
		ids := make([]ID, 16) // a run, so that each call refills
		if _, err := c.fill(t.Context(), at[turns%2], ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if seen[id] {
				t.Errorf("%d was handed out twice", id)
			}
			seen[id] = true
		}
	}
	if want := moveScore / 2; turns < want || turns > want+1 {
		t.Errorf("the callers moved apart after %d refills in turn, want %d", turns, want)
	}
}

// TestSeatScore: a refill from another seat than the one before counts two, one from the same seat
// takes one back, and sixteen are enough to move. After a move it begins anew.
func TestSeatScore(t *testing.T) {
	t.Parallel()
	lanes := newLanes(4)
	s := newSeats(lanes)
	l := &lanes[0]
	s.note(l, 1)
	for range 100 { // the score does not fall below 0
		if s.note(l, 1) {
			t.Fatal("a caller that is alone wants to move")
		}
	}
	for range 2 {
		seat, changes := s.turns[l.index].seat.Load(), 0
		for moved := false; !moved && changes < 100; changes++ {
			if seat++; changes > 0 && s.note(l, s.turns[l.index].seat.Load()) {
				t.Error("a caller that refilled the lane last wants to move")
			}
			moved = s.note(l, seat)
		}
		if changes != moveScore-1 { // each but the last has one taken back
			t.Errorf("moved after %d changes, want %d", changes, moveScore-1)
		}
	}
}

// TestSeatsEven gives every lane equally many seats, and neighbouring stacks seats of their own.
func TestSeatsEven(t *testing.T) {
	t.Parallel()
	heap := uint64(0xC000000000) // where Go's begins; 32 bits are its lower half
	for n := 2; n <= maxLanes; n *= 2 {
		lanes := newLanes(n)
		s := newSeats(lanes)
		users := map[*lane]int{}
		for seat := range s.mask + 1 {
			users[s.lane(seat)]++
		}
		for i := range lanes {
			if users[&lanes[i]] != seatsPerLane {
				t.Errorf("lane %d of %d has %d seats, want %d", i, n, users[&lanes[i]], seatsPerLane)
			}
		}
		seen := map[uint64]bool{}
		for i := range uintptr(n) {
			frame := uintptr(heap) + 2048*i
			seat := s.of(frame)
			if seat > s.mask || s.of(frame+2047) != seat {
				t.Errorf("a stack of %d has the seats %d and %d", n, seat, s.of(frame+2047))
			}
			seen[seat] = true
		}
		if len(seen) < n*9/10 {
			t.Errorf("%d stacks share %d seats", n, len(seen))
		}
	}
}

// TestSeatMove gives a seat the lane that was refilled longest ago.
func TestSeatMove(t *testing.T) {
	t.Parallel()
	for idle := range 4 {
		lanes := newLanes(4)
		s := newSeats(lanes)
		for i := range lanes {
			lanes[i].end.Store(uint64(100 + (i-idle+4)%4))
		}
		s.move(lanes, 9)
		if s.lane(9) != &lanes[idle] {
			t.Errorf("a seat that moves does not get lane %d", idle)
		}
	}
}
