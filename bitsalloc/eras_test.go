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

// TestErasBetween compares ranges over the changes with the times of ids.
func TestErasBetween(t *testing.T) {
	t.Parallel()
	e := threeEras(t)
	all := e.All()
	r := rand.New(rand.NewPCG(5, 6))
	around := func() time.Time {
		at := all[r.IntN(len(all))].Layout().Epoch
		return at.Add(time.Duration(r.Int64N(int64(10*time.Second)) - int64(5*time.Second)))
	}
	for range 20_000 {
		from, to := around(), around()
		lo, hi := e.Between(from, to)
		at := around()
		if at.Before(all[0].Layout().Epoch) {
			continue
		}
		a := e.At(at)
		tick := a.TickAt(at)
		for _, next := range all[1:] {
			if from := next.Layout().Epoch; at.Before(from) && a.TimeAt(tick+1).After(from) {
				a, tick = next, next.FirstTick() // the next era begins in the tick
				break
			}
		}
		id, err := a.Compose(tick, r.Int64N(a.MaxWorker()+1), r.Int64N(a.MaxSeq()+1))
		if err != nil {
			t.Fatal(err)
		}
		if first, last := e.First(at), e.Last(at); id < first || id > last ||
			last-first != a.Last(a.TimeAt(tick))-a.First(a.TimeAt(tick)) {
			t.Fatalf("id %d, stamped at %v, lies outside of %d..%d", id, at, first, last)
		}
		begin, end := a.TimeAt(tick), a.TimeAt(tick+1)
		for i, next := range all[1:] {
			if a == next && tick == next.FirstTick() {
				begin = all[i].TimeAt(all[i].TickAt(begin)) // with the rest of the tick that was cut off
			}
		}
		want := from.Before(to) && begin.Before(to) && end.After(from)
		if got := lo <= id && id <= hi; got != want && end.Sub(begin) < time.Minute {
			// An era's last tick ends where the next era begins.
			t.Fatalf("[%v, %v) is %d..%d; id %d of [%v, %v): %v, want %v", from, to, lo, hi, id, begin, end, got, want)
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
	for _, text := range []string{"", ",", "28-22-13,", "28-22-13,36-14-13",
		e.String() + ",28-22-13@2027-01-01T00:00:00Z", strings.Repeat("28-22-13,", 100)} {
		if got, err := bitsalloc.ParseEras(text); !errors.Is(err, bitsalloc.ErrLayout) {
			t.Errorf("ParseEras(%.40q) = %v, %v, want ErrLayout", text, got, err)
		}
	}
}

// TestErasRefused gives lists whose ids would not rise, or that leave a gap.
func TestErasRefused(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 36, WorkerBits: 10, SeqBits: 13, Epoch: eraStart}
	year := eraStart.AddDate(1, 0, 0)
	for want, later := range map[string]bitsalloc.Era{
		"From is 0001-01-01":    {Layout: l},
		"want an instant after": {From: eraStart, Layout: l},
		"want From":             {From: year, Layout: l},
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
	if _, err := bitsalloc.NewEras(bitsalloc.Layout{TimeBits: -1}); !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("a bad first layout: %v", err)
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
	if _, err := bitsalloc.NewEras(first, later...); err != nil {
		t.Error(err)
	}
	if _, err := bitsalloc.NewEras(first, append(later, later[62])...); !errors.Is(err, bitsalloc.ErrLayout) ||
		!strings.Contains(err.Error(), "65 eras, want at most 64") {
		t.Errorf("65 eras: %v, want an error that says how many there may be", err)
	}
}
