package uid

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// smallEras returns three eras of few ticks, which begin on no tick's border and above the lowest
// tick that they may begin at, and the time at which the first one begins.
func smallEras(t *testing.T) (*bitsalloc.Eras, time.Time) {
	t.Helper()
	epoch := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	eras, err := bitsalloc.NewEras(
		bitsalloc.Layout{TimeBits: 6, WorkerBits: 3, SeqBits: 2, GeneBits: 1, Epoch: epoch, FirstTick: 3},
		bitsalloc.Era{From: at(5500 * time.Millisecond), Layout: bitsalloc.Layout{TimeBits: 10,
			WorkerBits: 2, SeqBits: 4, GeneBits: 1, Tick: 250 * time.Millisecond, FirstTick: 7}},
		bitsalloc.Era{From: at(9100 * time.Millisecond), Layout: bitsalloc.Layout{TimeBits: 11,
			WorkerBits: 4, SeqBits: 1, GeneBits: 1, Tick: 2 * time.Second, FirstTick: 60}})
	if err != nil {
		t.Fatal(err)
	}
	return eras, epoch
}

// aTick is a tick of a timeline: its era and its first position.
type aTick struct {
	era  int
	tick int64
	pos  uint64
}

// ticksOf counts the ticks of eras: those that begin and end in their era.
func ticksOf(eras *bitsalloc.Eras) (all []aTick) {
	for i, a := range eras.All() {
		l := a.Layout()
		for tick := l.FirstTick; tick <= a.MaxTick(); tick++ {
			if next := i + 1; next < len(eras.All()) &&
				a.TimeAt(tick+1).After(eras.All()[next].Layout().Epoch) {
				break
			}
			all = append(all, aTick{i, tick, uint64(tick) << (l.WorkerBits + l.SeqBits)})
		}
	}
	return all
}

// TestTimelineSmall goes through all ticks of small eras: each position belongs to its tick and
// era, and follows the one before it; each instant belongs to the tick that it lies in.
func TestTimelineSmall(t *testing.T) {
	t.Parallel()
	eras, epoch := smallEras(t)
	l, ticks := newTimeline(eras, 0), ticksOf(eras)
	if l.maxWorker != 3 || l.tick != 2*time.Second || l.geneBits != 1 {
		t.Errorf("the timeline is %+v, want 3 as its highest worker id and ticks of 2 s at most", l)
	}
	end := uint64(ticks[len(ticks)-1].tick+1) << 5
	if l.end() != end {
		t.Errorf("end() = %d, want %d", l.end(), end)
	}
	for i, k := range ticks {
		a, next := eras.All()[k.era], end
		if i+1 < len(ticks) {
			next = ticks[i+1].pos
		}
		b := a.Layout()
		for seq := range uint64(1) << b.SeqBits {
			pos := k.pos + seq
			for _, n := range []uint64{pos, l.eras[k.era].number(pos, 3)} {
				if l.of(n).alloc != a || !l.time(n).Equal(a.TimeAt(k.tick)) {
					t.Errorf("%d is of %v at %v, want %+v", n, l.of(n).alloc.Layout(), l.time(n), k)
				}
			}
			if l.next(pos) != next || l.of(pos).begun(pos) != (seq > 0) {
				t.Errorf("after %d comes %d, want %d; begun: %v", pos, l.next(pos), next,
					l.of(pos).begun(pos))
			}
			id := l.keyless(l.of(pos).number(pos, 3))
			if tick, worker, at, gene := a.Split(int64(id)); tick != k.tick || worker != 3 ||
				at != int64(seq) || gene != int64(seq&1) {
				t.Errorf("the id of %d is %+v", pos, ParseParts(a, id))
			}
		}
		begin, last := a.TimeAt(k.tick), a.TimeAt(k.tick+1).Add(-1)
		if l.at(begin) != k.pos || l.at(last) != k.pos {
			t.Errorf("%v to %v is %d to %d, want %d", begin, last, l.at(begin), l.at(last), k.pos)
		}
	}
	first := ticks[0].pos
	for _, tc := range []struct {
		t    time.Time
		want uint64
	}{
		{epoch.Add(-1), first}, {epoch.AddDate(-300, 0, 0), first},
		// What the next era cuts off belongs to its first tick.
		{epoch.Add(5 * time.Second), l.eras[1].first}, {epoch.Add(9 * time.Second), l.eras[2].first},
		{eras.All()[2].Expires(), end}, {epoch.AddDate(300, 0, 0), end},
	} {
		if got := l.at(tc.t); got != tc.want {
			t.Errorf("at(%v) = %d, want %d", tc.t, got, tc.want)
		}
	}
	if l.next(end) != end || l.next(first-1) != first || l.of(first-1) != &l.eras[0] {
		t.Errorf("after the end comes %d, want the end, %d; before the first tick, %d, comes %d",
			l.next(end), end, first, l.next(first-1))
	}
}

// TestTimelineStart has ticks start at all numbers below SeqStart, equally often, other workers at
// other ones, and never beyond the sequence space of a narrow era.
func TestTimelineStart(t *testing.T) {
	t.Parallel()
	eras, _ := smallEras(t)
	for _, tc := range []struct {
		seqStart int64
		want     [3]uint64 // by era
	}{{0, [3]uint64{2, 8, 1}}, {1, [3]uint64{1, 1, 1}}, {3, [3]uint64{3, 3, 2}},
		{16, [3]uint64{4, 16, 2}}} {
		l := newTimeline(eras, tc.seqStart)
		for i, e := range l.eras {
			starts, other := map[uint64]int{}, 0
			const ticks = 1000
			for k := range uint64(ticks) {
				tick := e.first + k<<e.tickShift
				seq := e.start(tick, 1) - tick
				starts[seq]++
				if e.start(tick, 2)-tick != seq {
					other++
				}
				if seq >= tc.want[i] {
					t.Fatalf("SeqStart %d: a tick starts at %d, want less than %d", tc.seqStart, seq,
						tc.want[i])
				}
			}
			for seq := range tc.want[i] {
				if n, even := starts[seq], ticks/int(tc.want[i]); n < even*2/3 || n > even*3/2 {
					t.Errorf("SeqStart %d: %d of %d ticks start at %d, want about %d", tc.seqStart, n,
						ticks, seq, even)
				}
			}
			if even := ticks - ticks/int(tc.want[i]); other < even*2/3 {
				t.Errorf("SeqStart %d: %d of %d ticks start elsewhere for another worker, want %d",
					tc.seqStart, other, ticks, even)
			}
		}
	}
}

// TestTimelineGenes gives ids their genes: without gene bits there are none.
func TestTimelineGenes(t *testing.T) {
	t.Parallel()
	for _, bits := range []int{0, 3} {
		eras, err := bitsalloc.NewEras(bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 10,
			GeneBits: bits})
		if err != nil {
			t.Fatal(err)
		}
		l := newTimeline(eras, 0)
		ids, keyed := make([]ID, 20), make([]ID, 20)
		count(ids, 1000, l.geneBits)
		count(keyed, 1000, l.geneBits)
		l.spread(ids)
		l.carry(keyed, -2)
		for i := range ids {
			number := ID(1000 + i)
			if want := number<<bits | number&(1<<bits-1); ids[i] != want || l.keyless(uint64(number)) != want {
				t.Errorf("%d gene bits: id %d is %d, want %d", bits, i, ids[i], want)
			}
			if want := number<<bits | -2&(1<<bits-1); keyed[i] != want {
				t.Errorf("%d gene bits: id %d with a key is %d, want %d", bits, i, keyed[i], want)
			}
		}
	}
}

// TestTimelineSpread has the ticks of the default layout start all over the lower half of the
// sequence space, and its end lies beyond all instants after it.
func TestTimelineSpread(t *testing.T) {
	t.Parallel()
	eras, err := bitsalloc.NewEras(bitsalloc.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	l := newTimeline(eras, 0)
	starts := map[uint64]bool{}
	for k := range uint64(1000) {
		starts[l.eras[0].start(k<<35, 1)&8191] = true
	}
	if n := len(starts); n < 800 { // of 4096: about 890
		t.Errorf("1000 ticks have %d starts", n)
	}
	for years := 9; years < 290; years++ { // its ticks, shifted, would wrap around
		if at := DefaultEpoch.AddDate(years, 0, 0); l.at(at) != l.end() {
			t.Errorf("at(%v) = %d, want the end, %d", at, l.at(at), l.end())
		}
	}
	o := eraOptions(Options{})
	if eras, err = bitsalloc.NewEras(o.Layout, o.Eras...); err != nil {
		t.Fatal(err)
	}
	if l := newTimeline(eras, 0); l.maxWorker != 1<<10-1 || l.tick != time.Minute {
		t.Errorf("the highest worker id is %d, the longest tick %v, want 1023 and 1m", l.maxWorker,
			l.tick)
	}
}

// TestMix compares with the first numbers of splitmix64, whose state is a multiple of its step.
func TestMix(t *testing.T) {
	t.Parallel()
	var state uint64
	for i, want := range []uint64{0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F} {
		if got := mix(state); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
		state += 0x9E3779B97F4A7C15
	}
}

// workerClaim is a claim of any worker id on all of time.
type workerClaim struct {
	assigner.Claim
	worker int64
}

func (c workerClaim) Worker() int64 { return c.worker }

func (c workerClaim) Window() (from, until time.Time) { return time.Time{}, time.Time{} }

// TestWindowOfWorker refuses a worker id that one of the eras cannot hold.
func TestWindowOfWorker(t *testing.T) {
	t.Parallel()
	eras, _ := smallEras(t)
	l := newTimeline(eras, 0)
	for worker, ok := range map[int64]bool{-1: false, 0: true, 3: true, 4: false} {
		w, err := newWindow(l, workerClaim{worker: worker})
		if ok && (err != nil || w.worker != worker || w.end != l.end()) ||
			!ok && !errors.Is(err, bitsalloc.ErrRange) {
			t.Errorf("worker %d: %+v, %v, want it accepted: %v", worker, w, err, ok)
		}
	}
}
