package bitsalloc_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// TestMonth: months follow one another without a gap or an overlap, and an id is of the month that its
// time lies in, whatever eras, ticks and epochs there are.
func TestMonth(t *testing.T) {
	t.Parallel()
	one := func(l bitsalloc.Layout) *bitsalloc.Eras {
		e, err := bitsalloc.NewEras(l)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	odd := time.Date(2026, 1, 30, 23, 59, 58, 7, time.UTC)
	for name, e := range map[string]*bitsalloc.Eras{
		"default":    one(bitsalloc.Layout{}),
		"three eras": threeEras(t),
		"odd ticks": one(bitsalloc.Layout{TimeBits: 25, WorkerBits: 18, SeqBits: 20, Epoch: odd,
			Tick: 7 * time.Second}),
		"short": one(bitsalloc.Layout{TimeBits: 22, WorkerBits: 21, SeqBits: 20, FirstTick: 5}),
	} {
		r := rand.New(rand.NewPCG(5, 6))
		all := e.All()
		start, end := all[0].Layout().Epoch, all[len(all)-1].Expires()
		next := all[0].First(start) // the lowest id of the next month
		at := time.Date(start.Year(), start.Month(), 1, 0, 0, 0, 0, time.UTC)
		if lo, hi := e.Month(at.Year(), at.Month()-1); lo != 1 || hi != 0 {
			t.Errorf("%s: the month before the epoch is %d to %d, want 1 to 0", name, lo, hi)
		}
		for ; at.Before(end) && at.Year() < 2150; at = at.AddDate(0, 1, 0) {
			lo, hi := e.Month(at.Year(), at.Month())
			if lo != next || hi < lo {
				t.Fatalf("%s: %s is %d to %d, want it to begin at %d", name, at.Format("2006-01"), lo, hi, next)
			}
			next = hi + 1
			ids := []int64{lo, hi}
			for range 20 {
				ids = append(ids, lo+r.Int64N(hi-lo+1))
			}
			for _, id := range ids {
				a := e.Of(id)
				tick, _, _, _ := a.Split(id)
				made := a.TimeAt(tick)
				if e.At(made) != a { // between two eras, where nothing is stamped
					continue
				}
				if made.Before(at) || !made.Before(at.AddDate(0, 1, 0)) {
					t.Errorf("%s: %d was made at %v, and is in the month %s", name, id, made, at.Format("2006-01"))
				}
			}
		}
		if last := all[len(all)-1].MaxID(); !at.Before(end) && next-1 != last {
			t.Errorf("%s: the last month ends at %d, want %d", name, next-1, last)
		}
		if lo, hi := e.Month(at.Year()+9999, at.Month()); !at.Before(end) && (lo != 1 || hi != 0) {
			t.Errorf("%s: a month after the end is %d to %d, want 1 to 0", name, lo, hi)
		}
	}
}
