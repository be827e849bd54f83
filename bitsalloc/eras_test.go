package bitsalloc_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// threeEras widens a layout of 53 bits to 63, and then gives it other widths, at instants that are
// on no tick's border.
func threeEras(t *testing.T) *bitsalloc.Eras {
	t.Helper()
	first := bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 13, Epoch: eraStart.AddDate(-3, 0, 0)}
	e, err := bitsalloc.NewEras(first,
		bitsalloc.Era{From: eraStart, Layout: bitsalloc.Layout{TimeBits: 38, WorkerBits: 12, SeqBits: 13}},
		bitsalloc.Era{From: eraStart.AddDate(1, 2, 3),
			Layout: bitsalloc.Layout{TimeBits: 45, WorkerBits: 10, SeqBits: 8,
				Tick: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestErasInOrder composes ids of all workers around the changes: ids rise from era to era, and
// each one tells its era.
func TestErasInOrder(t *testing.T) {
	t.Parallel()
	e := threeEras(t)
	r := rand.New(rand.NewPCG(3, 4))
	all := e.All()
	last := int64(-1)
	for i, a := range all {
		// From the first to the last tick that lies inside the era as a whole.
		from, to := a.Layout().FirstTick, a.MaxTick()
		if i+1 < len(all) {
			to = a.TickAt(all[i+1].Layout().Epoch) - 1
		}
		lowest, err := a.Compose(from, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if lowest <= last {
			t.Errorf("era %d begins at %d, the one before reaches %d", i, lowest, last)
		}
		last, err = a.Compose(to, a.MaxWorker(), a.MaxSeq())
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			id, err := a.Compose(from+r.Int64N(to-from+1), r.Int64N(a.MaxWorker()+1), r.Int64N(a.MaxSeq()+1))
			if err != nil {
				t.Fatal(err)
			}
			if e.Of(id) != a {
				t.Fatalf("id %d of era %d counts as one of %v", id, i, e.Of(id).Layout())
			}
			tick, _, _, _ := a.Split(id)
			if at := a.TimeAt(tick); e.At(at) != a {
				t.Fatalf("%v of era %d counts as one of %v", at, i, e.At(at).Layout())
			}
		}
	}
	if e.Of(-5) != all[0] || e.At(time.Time{}) != all[0] {
		t.Error("what lies before all eras is not of the first")
	}
}

// randomEras returns lists of up to four eras with ticks of a few nanoseconds, which the eras cut off
// anywhere, and of which some run out soon.
func randomEras(r *rand.Rand, n int) []*bitsalloc.Eras {
	var lists []*bitsalloc.Eras
	for len(lists) < n {
		gene := r.IntN(2)
		layout := func(timeBits int) bitsalloc.Layout {
			return bitsalloc.Layout{TimeBits: timeBits, WorkerBits: r.IntN(3), SeqBits: 1 + r.IntN(3), GeneBits: gene,
				Tick: time.Duration(1 + r.IntN(9))}
		}
		first := layout(3 + r.IntN(3))
		first.Epoch, first.FirstTick = eraStart, r.Int64N(6)
		var later []bitsalloc.Era
		for from := eraStart; len(later) < 3 && r.IntN(4) > 0; {
			from = from.Add(time.Duration(1 + r.IntN(30)))
			later = append(later, bitsalloc.Era{From: from, Layout: layout(10)})
			if r.IntN(3) == 0 {
				later[len(later)-1].FirstTick = 1023 - r.Int64N(900)
			}
		}
		if e, err := bitsalloc.NewEras(first, later...); err == nil {
			lists = append(lists, e)
		}
	}
	return lists
}

// stampedAt says in which era and which tick a generator stamps at an instant, by counting: in those
// where the instant lies, or in the first tick of the next era if that one begins within the tick.
func stampedAt(e *bitsalloc.Eras, at time.Time) (lies, era int, tick int64) {
	all := e.All()
	for i, a := range all {
		if !a.Layout().Epoch.After(at) {
			lies = i
		}
	}
	l := all[lies].Layout()
	tick, end := l.FirstTick, l.Epoch.Add(l.Tick)
	for ; !end.After(at); end = end.Add(l.Tick) {
		tick++
	}
	if at.Before(l.Epoch) {
		return lies, lies, tick - 1
	}
	if next := lies + 1; next < len(all) && end.After(all[next].Layout().Epoch) {
		return lies, next, all[next].Layout().FirstTick
	}
	return lies, lies, tick
}

// TestErasBetween goes through lists of eras nanosecond by nanosecond. At, Between and Of say what
// counting says, ids rise from tick to tick, and no id is of two eras.
func TestErasBetween(t *testing.T) {
	t.Parallel()
	for _, e := range randomEras(rand.New(rand.NewPCG(5, 6)), 100) {
		all := e.All()
		newest := all[len(all)-1]
		begin, instants := eraStart.Add(-5), int(newest.Layout().Epoch.Sub(eraStart))+100
		first, last := make([]int64, instants), make([]int64, instants) // the ids of each instant's tick
		stamps := make([]bool, instants)
		before := int64(-1)
		for i := range instants {
			at := begin.Add(time.Duration(i))
			lies, era, tick := stampedAt(e, at)
			a := all[era]
			l := a.Layout()
			shift := l.WorkerBits + l.SeqBits + l.GeneBits
			stamps[i] = tick >= l.FirstTick && tick <= a.MaxTick()
			first[i], last[i] = tick<<shift, (tick+1)<<shift-1
			switch {
			case tick < l.FirstTick:
				first[i], last[i] = l.FirstTick<<shift, l.FirstTick<<shift
			case tick > a.MaxTick():
				first[i], last[i] = a.MaxID(), a.MaxID()
			case e.Of(first[i]) != a || e.Of(last[i]) != a:
				t.Fatalf("%v: ids %d..%d of era %d count as others'", e, first[i], last[i], era)
			case last[i] != before && first[i] <= before:
				t.Fatalf("%v at %d: id %d comes after %d", e, i, first[i], before)
			default:
				before = last[i]
			}
			if e.At(at) != all[lies] {
				t.Fatalf("%v: At(%v) is %v, want era %d", e, at, e.At(at).Layout(), lies)
			}
		}
		for from := range instants {
			lo, hi := int64(1), int64(0)
			for to := from; to < instants; to++ {
				got, most := e.Between(begin.Add(time.Duration(from)), begin.Add(time.Duration(to)))
				if got != lo || most != hi {
					t.Fatalf("%v: from %d to %d: %d..%d, want %d..%d", e, from, to, got, most, lo, hi)
				}
				if stamps[to] {
					if hi < lo {
						lo = first[to]
					}
					hi = last[to]
				}
			}
			if lo, hi := e.Between(begin.Add(time.Duration(from)), begin); lo != 1 || hi != 0 {
				t.Fatalf("%v: from %d back to 0: %d..%d, want nothing", e, from, lo, hi)
			}
		}
	}
}

// TestErasText writes and reads lists of eras.
func TestErasText(t *testing.T) {
	t.Parallel()
	e := threeEras(t)
	back, err := bitsalloc.ParseEras(e.String())
	if err != nil || back.String() != e.String() || len(back.All()) != 3 {
		t.Errorf("%s reads as %v, %v", e, back, err)
	}
	one, err := bitsalloc.NewEras(bitsalloc.Layout{})
	if err != nil || one.String() != (bitsalloc.Layout{}).String() {
		t.Errorf("one era is %v, %v, want the layout's own text", one, err)
	}
	for text, want := range map[string]string{
		"":                  "has 1 widths",
		",":                 "has 1 widths",
		"28-22-13,":         "has 1 widths",
		"28-22-13,36-14":    "has 2 widths",
		"28-22-13,36-14-13": "From is 2026-01-01",
		e.String() + ",28-22-13@2027-01-01T00:00:00Z": "From is 2027-01-01",
		strings.Repeat("28-22-13,", 64):               "the text has 65 eras, want at most 64",
	} {
		if got, err := bitsalloc.ParseEras(text); !errors.Is(err, bitsalloc.ErrLayout) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("ParseEras(%.40q) = %v, %v, want ErrLayout that says %q", text, got, err, want)
		}
	}
}

// TestErasRefused gives lists whose ids would not rise, or that leave a gap.
func TestErasRefused(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 36, WorkerBits: 10, SeqBits: 13, Epoch: eraStart}
	year := eraStart.AddDate(1, 0, 0)
	for want, later := range map[string]bitsalloc.Era{
		"From is 0001-01-01": {Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 10, SeqBits: 13}},
		"want 2029-03-04 05:06:08.891234567 +0000 UTC or later": {From: eraStart.Add(time.Second - 1),
			Layout: bitsalloc.Layout{TimeBits: 37, WorkerBits: 10, SeqBits: 13}},
		"want From": {From: year, Layout: l},
		"FirstTick is 1, want 0 or at least " +
			"31536000": {From: year, Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 10,
			SeqBits: 13, FirstTick: 1}},
		"GeneBits is 2": {From: year,
			Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 10, SeqBits: 13, GeneBits: 2}},
		"bits are missing": {From: year, Layout: bitsalloc.Layout{TimeBits: 20, WorkerBits: 10, SeqBits: 13}},
		"the layout before ends": {From: eraStart.AddDate(5000, 0, 0),
			Layout: bitsalloc.Layout{TimeBits: 38, WorkerBits: 10, SeqBits: 13}},
		"TimeBits is -1": {From: year, Layout: bitsalloc.Layout{TimeBits: -1, WorkerBits: 10, SeqBits: 13}},
	} {
		if _, err := bitsalloc.NewEras(l, later); !errors.Is(err, bitsalloc.ErrLayout) ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "era 1") {
			t.Errorf("%+v: %v, want an error about era 1 with %q", later, err, want)
		}
	}
	// The second era gets the rest of a tick of the first one. Without a whole tick of its own it would
	// share these ids with the third.
	if _, err := bitsalloc.NewEras(bitsalloc.Layout{TimeBits: 30, WorkerBits: 4, SeqBits: 8, Epoch: eraStart},
		bitsalloc.Era{From: eraStart.Add(10300 * time.Millisecond),
			Layout: bitsalloc.Layout{TimeBits: 30, WorkerBits: 4, SeqBits: 8, Tick: 10 * time.Second}},
		bitsalloc.Era{From: eraStart.Add(12 * time.Second),
			Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 4, SeqBits: 4, FirstTick: 161}},
	); !errors.Is(err, bitsalloc.ErrLayout) || !strings.Contains(err.Error(), "era 2") {
		t.Errorf("an era without a whole tick: %v, want an error about era 2", err)
	}
	if _, err := bitsalloc.NewEras(bitsalloc.Layout{TimeBits: -1}); !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("a bad first layout: %v", err)
	}
}

// TestErasAccepted gives what lies just within the rules: an era of one tick, that ends where the
// next one begins, and a FirstTick that is higher than it need be.
func TestErasAccepted(t *testing.T) {
	t.Parallel()
	first := bitsalloc.Layout{TimeBits: 1, SeqBits: 4, FirstTick: 1, Epoch: eraStart}
	for _, tick := range []int64{0, 2, 3, 7} {
		e, err := bitsalloc.NewEras(first, bitsalloc.Era{From: eraStart.Add(time.Second),
			Layout: bitsalloc.Layout{TimeBits: 3, SeqBits: 4, FirstTick: tick}})
		if err != nil {
			t.Errorf("FirstTick %d: %v", tick, err)
			continue
		}
		if got := e.All()[1].Layout().FirstTick; got != max(tick, 2) {
			t.Errorf("FirstTick %d becomes %d, want %d", tick, got, max(tick, 2))
		}
	}
}

func ExampleNewEras() {
	first := bitsalloc.Layout{}
	eras, err := bitsalloc.NewEras(first, bitsalloc.Era{
		From:   time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC),
		Layout: bitsalloc.Layout{TimeBits: 36, WorkerBits: 14, SeqBits: 13},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range eras.All() {
		fmt.Println(a.Layout(), "until", a.Expires().Year())
	}
	// Output:
	// 28-22-13-0/1s@2026-01-01T00:00:00Z until 2034
	// 36-14-13-0/1s+32314982400@2030-01-01T00:00:00Z until 3183
}

// TestNewErasMany adds an era more than there may be.
func TestNewErasMany(t *testing.T) {
	t.Parallel()
	first := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 4, Epoch: time.Unix(1<<30, 0)}
	var later []bitsalloc.Era
	for i := range 63 {
		from := first.Epoch.Add(time.Duration(i+1) * time.Hour)
		later = append(later, bitsalloc.Era{From: from,
			Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 4}})
	}
	e, err := bitsalloc.NewEras(first, later...)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := bitsalloc.ParseEras(e.String()); err != nil || back.String() != e.String() {
		t.Errorf("the text of 64 eras reads as %v, %v", back, err)
	}
	if _, err := bitsalloc.NewEras(first, append(later, later[62])...); !errors.Is(err, bitsalloc.ErrLayout) ||
		!strings.Contains(err.Error(), "65 eras, want at most 64") {
		t.Errorf("65 eras: %v, want an error that says how many there may be", err)
	}
}
