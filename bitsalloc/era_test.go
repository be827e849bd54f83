package bitsalloc_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// eraStart is an instant that is not on any layout's tick.
var eraStart = time.Date(2029, time.March, 4, 5, 6, 7, 891_234_567, time.UTC)

// tickIDs returns how many ids the first tick has.
func tickIDs(a *bitsalloc.Allocator) int64 {
	lo, hi := a.Between(eraStart, eraStart.Add(1))
	return hi - lo + 1
}

// someLayouts returns the named layouts and random ones.
func someLayouts(n int) []bitsalloc.Layout {
	all := []bitsalloc.Layout{
		{}, {TimeBits: 36, WorkerBits: 14, SeqBits: 13},
		{TimeBits: 31, WorkerBits: 14, SeqBits: 18},
		{TimeBits: 30, WorkerBits: 10, SeqBits: 13},
		compat.Twitter(),
		{TimeBits: 39, WorkerBits: 16, SeqBits: 8, Tick: 10 * time.Millisecond},
		{TimeBits: 62, SeqBits: 1}, {TimeBits: 1, SeqBits: 62, Tick: 100 * 365 * 24 * time.Hour},
	}
	r := rand.New(rand.NewPCG(15, 2))
	for len(all) < n {
		l := bitsalloc.Layout{TimeBits: 26 + r.IntN(20), WorkerBits: r.IntN(15), SeqBits: 1 + r.IntN(15),
			Tick: []time.Duration{time.Second, time.Millisecond, 10 * time.Millisecond, time.Minute}[r.IntN(4)]}
		if _, err := bitsalloc.New(l); err == nil {
			all = append(all, l)
		}
	}
	return all
}

// TestAbove moves layouts above ids of all sizes: the first id is greater, the one a tick earlier
// would not be, and Expires says what is left.
func TestAbove(t *testing.T) {
	t.Parallel()
	for _, l := range someLayouts(50) {
		for _, id := range []int64{-1, 0, 1, 4711, 1 << 31, 1 << 40, 1<<53 - 1, 1 << 53, 1 << 61,
			1<<63 - 2, 1<<63 - 1} {
			above, err := l.Above(id, eraStart)
			if err != nil {
				if !errors.Is(err, bitsalloc.ErrLayout) || !strings.Contains(err.Error(), "bits are missing") {
					t.Fatalf("%v above %d: %v", l, id, err)
				}
				continue
			}
			a := mustNew(t, above)
			first, err := a.Compose(above.FirstTick, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if first <= id || above.FirstTick > 0 && id >= 0 &&
				a.First(eraStart)-tickIDs(a) > id {
				t.Errorf("%v above %d begins at %d, want the lowest tick above", above, id, first)
			}
			if got := a.TickAt(eraStart); got != above.FirstTick || !a.TimeAt(got).Equal(eraStart) {
				t.Errorf("%v: the epoch is tick %d at %v, want %d", above, got, a.TimeAt(got), above.FirstTick)
			}
			if a.TickAt(a.Expires()) != a.MaxTick()+1 && a.Expires().Year() < 1<<30 {
				t.Errorf("%v expires at %v, which is tick %d of %d",
					above, a.Expires(), a.TickAt(a.Expires()), a.MaxTick())
			}
		}
	}
	if l, err := (bitsalloc.Layout{}).Above(1<<63-1, eraStart); err == nil {
		t.Errorf("a layout above all ids: %v", l)
	}
	if _, err := (bitsalloc.Layout{TimeBits: 28, WorkerBits: 10, SeqBits: 10}).Above(1<<50,
		eraStart); err == nil || !strings.Contains(err.Error(), "TimeBits is 28: 3 bits "+
		"are missing") {
		t.Errorf("48 bits above 2^50: %v, want 3 bits missing", err)
	}
}

// TestAboveSmall tries every id of small layouts: FirstTick is the lowest one that will do, whatever
// it was before, and an error if the time bits do not hold it.
func TestAboveSmall(t *testing.T) {
	t.Parallel()
	for _, l := range []bitsalloc.Layout{
		{TimeBits: 3, SeqBits: 2, FirstTick: 5},
		{TimeBits: 2, WorkerBits: 1, SeqBits: 1, GeneBits: 1, FirstTick: 4}, // which New refuses
	} {
		shift := l.WorkerBits + l.SeqBits + l.GeneBits
		for id := int64(-3); id < 1<<(l.TimeBits+shift)+3; id++ {
			want := int64(0)
			for want<<shift <= id {
				want++
			}
			above, err := l.Above(id, eraStart)
			if fits := want < 1<<l.TimeBits; (err == nil) != fits || fits && (above.FirstTick != want ||
				mustNew(t, above).Layout().FirstTick != want || !above.Epoch.Equal(eraStart)) {
				t.Errorf("%v above %d: %v, %v, want the first tick %d", l, id, above, err, want)
			}
		}
	}
	l := bitsalloc.Layout{TimeBits: -1}
	if above, err := l.Above(1, eraStart); !errors.Is(err, bitsalloc.ErrLayout) || above != (bitsalloc.Layout{}) {
		t.Errorf("a bad layout above 1: %v, %v, want an error", above, err)
	}
}

// TestAfterSmall changes small layouts at every instant, also before the first and after the last
// tick: FirstTick is the lowest one above all ids of ticks that end at from or before.
func TestAfterSmall(t *testing.T) {
	t.Parallel()
	const tick = 3
	for seqBits := 1; seqBits < 6; seqBits++ {
		for _, prev := range []bitsalloc.Layout{
			{TimeBits: 3, SeqBits: 3, Tick: tick, Epoch: eraStart},
			{TimeBits: 3, WorkerBits: 1, SeqBits: 2, Tick: tick, Epoch: eraStart, FirstTick: 3},
		} {
			for from := -2 * tick; from < 12*tick; from++ {
				least := prev.FirstTick << 3
				for i := range 8 - prev.FirstTick {
					if int(i+1)*tick <= from {
						least = (prev.FirstTick + i + 1) << 3
					}
				}
				want := int64(0)
				for want<<seqBits < least {
					want++
				}
				next, err := bitsalloc.Layout{TimeBits: 4, SeqBits: seqBits, FirstTick: -1}.After(prev,
					eraStart.Add(time.Duration(from)))
				if fits := want < 1<<4; (err == nil) != fits || fits && next.FirstTick != want {
					t.Errorf("%v, %d ns after its epoch, then %d sequence bits: %v, %v, want the first tick %d",
						prev, from, seqBits, next, err, want)
				}
			}
		}
	}
}

// TestSucceed: for each pair of layouts, every id that any worker can stamp by the first before the
// change lies below every id of the second, whatever their clocks show.
func TestAfter(t *testing.T) {
	t.Parallel()
	layouts := someLayouts(50)
	pairs := 0
	for _, prev := range layouts {
		p := mustNew(t, prev)
		if !p.Expires().After(eraStart) {
			continue
		}
		for _, wish := range layouts {
			next, err := wish.After(prev, eraStart)
			if err != nil {
				if !strings.Contains(err.Error(), "bits are missing") {
					t.Fatalf("%v after %v: %v", wish, prev, err)
				}
				continue
			}
			pairs++
			n := mustNew(t, next)
			// The last whole tick before the change, at its highest worker and sequence number.
			last := p.TickAt(eraStart) - 1
			if last < 0 {
				continue // the first tick is not over: no id
			}
			highest, err := p.Compose(last, p.MaxWorker(), p.MaxSeq())
			if err != nil {
				t.Fatal(err)
			}
			highest |= maxGene(p)
			lowest, err := n.Compose(next.FirstTick, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if p.TimeAt(last + 1).After(eraStart) {
				t.Fatalf("%v: tick %d does not end before the change", prev, last)
			}
			if lowest <= highest {
				t.Errorf("%v after %v begins at %d, and the one before reaches %d", next, prev, lowest, highest)
			}
			if next.FirstTick > 0 && lowest-tickIDs(n) > highest {
				t.Errorf("%v after %v could begin a tick earlier", next, prev)
			}
		}
	}
	if pairs < 500 {
		t.Errorf("%d pairs were compared, want hundreds", pairs)
	}
	_, err := bitsalloc.Layout{}.WithGene(2).After(bitsalloc.Layout{}, eraStart)
	if !errors.Is(err, bitsalloc.ErrLayout) ||
		!strings.Contains(err.Error(), "GeneBits is 2, want 0") {
		t.Errorf("other gene bits: %v", err)
	}
	_, err = bitsalloc.Layout{}.After(bitsalloc.Layout{TimeBits: -1}, eraStart)
	if !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("a bad layout before: %v", err)
	}
}

// TestBetween looks at ranges around the ends of the epoch, and at every instant of small layouts.
func TestBetween(t *testing.T) {
	t.Parallel()
	epoch := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	for _, first := range []int64{0, 5} {
		l := bitsalloc.Layout{TimeBits: 4, WorkerBits: 2, SeqBits: 3, Epoch: epoch, FirstTick: first}
		a := mustNew(t, l)
		const step = 250 * time.Millisecond
		for from := -3 * time.Second; from < 20*time.Second; from += step {
			for to := from - time.Second; to < 20*time.Second; to += step {
				lo, hi := a.Between(epoch.Add(from), epoch.Add(to))
				for id := int64(0); id <= a.MaxID(); id++ {
					tick, _, _, _ := a.Split(id)
					if tick < first {
						continue // nobody stamps it
					}
					begin := a.TimeAt(tick)
					// Can the id have been made in [from, to)?
					want := from < to && begin.Before(epoch.Add(to)) && begin.Add(time.Second).After(epoch.Add(from))
					if got := lo <= id && id <= hi; got != want {
						t.Fatalf("first tick %d, [%v, %v): %d..%d, and id %d of tick %d in it: "+
							"%v, want %v", first, from, to, lo, hi, id, tick, got, want)
					}
				}
			}
		}
		if a.First(epoch.Add(-time.Hour)) != first<<5 || a.First(epoch.Add(time.Hour)) != a.MaxID() {
			t.Errorf("first tick %d: instants outside are not clamped", first)
		}
	}
	wide := mustNew(t, bitsalloc.Layout{})
	if lo, hi := wide.Between(time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)); lo != 0 ||
		hi != math.MaxInt64 {
		t.Errorf("all of time is %d..%d", lo, hi)
	}
}

// FuzzAfter composes ids of two eras at random: none of the second is below or equal to one of
// the first that ends before the change.
func FuzzAfter(f *testing.F) {
	f.Add(28, 22, 13, 36, 14, 13, int64(100), int64(7), int64(9), int64(0), int64(0), int64(0))
	f.Add(41, 10, 12, 30, 10, 13, int64(1), int64(1023), int64(4095), int64(5), int64(1), int64(1))
	f.Fuzz(func(t *testing.T, t1, w1, s1, t2, w2, s2 int, back, worker1, seq1, ahead, worker2, seq2 int64) {
		prev := bitsalloc.Layout{TimeBits: t1, WorkerBits: w1, SeqBits: s1}
		p, err := bitsalloc.New(prev)
		if err != nil {
			return // not a layout
		}
		next, err := bitsalloc.Layout{TimeBits: t2, WorkerBits: w2, SeqBits: s2,
			Tick: time.Millisecond}.After(prev, eraStart)
		if err != nil {
			return // no such era
		}
		n := mustNew(t, next)
		tick1 := p.TickAt(eraStart) - 1 - back&0xffff
		if tick1 < 0 || tick1 > p.MaxTick() {
			return // outside of the first era
		}
		tick2 := min(next.FirstTick+ahead&0xffff, n.MaxTick())
		id1, err1 := p.Compose(tick1, worker1&p.MaxWorker(), seq1&p.MaxSeq())
		id2, err2 := n.Compose(tick2, worker2&n.MaxWorker(), seq2&n.MaxSeq())
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if id2 <= id1 {
			t.Errorf("%d of %v is not above %d of %v", id2, next, id1, prev)
		}
	})
}

func ExampleLayout_Above() {
	// A table whose highest AUTO_INCREMENT is 1,234,567,890,123 moves to time-ordered ids.
	from := time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC)
	l, err := bitsalloc.Layout{}.Above(1_234_567_890_123, from)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(l)
	// Output: 28-22-13-0/1s+36@2027-01-01T00:00:00Z
}

func ExampleLayout_After() {
	// The default layout ends in 2034. From 2030 on, 36 bits of seconds follow.
	from := time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	next, err := bitsalloc.Layout{TimeBits: 36, WorkerBits: 14, SeqBits: 13}.After(bitsalloc.Layout{}, from)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := bitsalloc.New(next)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(next)
	fmt.Println(a.Expires().Year())
	// Output:
	// 36-14-13-0/1s+32314982400@2030-01-01T00:00:00Z
	// 3183
}

func ExampleAllocator_Between() {
	a, err := bitsalloc.New(bitsalloc.Layout{})
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	lo, hi := a.Between(day, day.AddDate(0, 0, 1))
	fmt.Printf("SELECT * FROM orders WHERE id BETWEEN %d AND %d\n", lo, hi)
	// Output: SELECT * FROM orders WHERE id BETWEEN 961852771978444800 AND 964821453373439999
}
