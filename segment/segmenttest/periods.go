package segmenttest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/uidring/uidring/segment"
)

// RunPeriods tests a segment.Periods in subtests of t. open returns at every call a new one over
// the same counters, as another process would use. RunPeriods uses the names "conformance" and
// "conformance-2" and leaves their rows behind.
func RunPeriods(t *testing.T, open func(tb testing.TB) segment.Periods) {
	period := func(number int64, key string) segment.Period {
		return segment.Period{Name: "conformance", Format: "a format", Number: number,
			Tag: fmt.Sprint("conformance@", number, "@", key), Step: 10, MaxStep: 100}
	}
	src := open(t)
	ctx := t.Context()
	t.Run("Begin", func(t *testing.T) { beginPeriods(t, open, period) })
	t.Run("Format", func(t *testing.T) {
		other := period(20261122, "A")
		other.Format = "A format"
		for _, tag := range []string{other.Tag, "conformance@20261122@new", ""} {
			other.Tag = tag
			if err := src.Begin(ctx, other); !errors.Is(err, segment.ErrFormat) {
				t.Errorf("Begin of %q with another format = %v, want ErrFormat", tag, err)
			}
		}
		if err := src.Begin(ctx, segment.Period{Name: "conformance-2", Format: "x"}); err != nil {
			t.Errorf("Begin of another name = %v", err)
		}
		if _, err := src.Fetch(ctx, "conformance@20261122@new", 0); !errors.Is(err,
			segment.ErrUnknownTag) {
			t.Errorf("Fetch after a Begin that was refused = %v, want ErrUnknownTag", err)
		}
	})
	t.Run("Clear", func(t *testing.T) { clearPeriods(t, src, period) })
	t.Run("Names", func(t *testing.T) {
		names, err := src.Names(ctx)
		if err != nil || len(names) < 2 || names[0].Name != "conformance" ||
			names[0].Format != "a format" || names[0].Floor != 20261122 {
			t.Errorf("Names = %+v, %v", names, err)
		}
	})
}

// beginPeriods: each counter begins at 1, once, however many processes make it at the same time.
func beginPeriods(
	t *testing.T, open func(tb testing.TB) segment.Periods,
	period func(int64, string) segment.Period,
) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	firsts := map[string]int{}
	for range 4 {
		src := open(t)
		wg.Go(func() {
			for i := range 5 {
				p := period(20261120+int64(i), "A")
				err := src.Begin(t.Context(), p)
				var r segment.Range
				if err == nil {
					r, err = src.Fetch(t.Context(), p.Tag, 0)
				}
				if err != nil || r.Len() != 10 || r.From%10 != 1 || r.Cyclic {
					t.Errorf("the first range of %s = %v, %v", p.Tag, r, err)
				}
				mu.Lock()
				firsts[fmt.Sprint(p.Tag, " ", r.From)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for first, times := range firsts {
		if times > 1 {
			t.Errorf("%s was handed out %d times", first, times)
		}
	}
	if firsts["conformance@20261120@A 1"] != 1 || len(firsts) != 20 {
		t.Errorf("the ranges began at %v, want those of each counter at 1, 11, 21 and 31", firsts)
	}
}

// clearPeriods: what is below the floor is gone and does not come back; the rest stays.
func clearPeriods(
	t *testing.T, src segment.Periods, period func(int64, string) segment.Period,
) {
	ctx := t.Context()
	never := period(0, "A")
	if err := src.Begin(ctx, never); err != nil {
		t.Errorf("Begin of a counter without a period = %v", err)
	}
	if n, err := src.Clear(ctx, "conformance", 20261122); n != 2 || err != nil {
		t.Errorf("Clear = %d, %v, want 2 counters deleted", n, err)
	}
	for range 2 { // and again, when nothing is left
		p := period(20261121, "A")
		if err := src.Begin(ctx, p); !errors.Is(err, segment.ErrPastPeriod) {
			t.Errorf("Begin below the floor = %v, want ErrPastPeriod", err)
		}
		if _, err := src.Fetch(ctx, p.Tag, 0); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch of a deleted counter = %v, want ErrUnknownTag", err)
		}
		p = period(20261122, "A")
		err := src.Begin(ctx, p)
		if r, fetchErr := src.Fetch(ctx, p.Tag, 0); err != nil || fetchErr != nil || r.From < 41 {
			t.Errorf("above the floor: %v, %v, %v, want it to go on", err, r, fetchErr)
		}
		if n, err := src.Clear(ctx, "conformance", 20261101); n != 0 || err != nil {
			t.Errorf("Clear with a lower floor = %d, %v, want nothing", n, err)
		}
	}
	if err := src.Begin(ctx, never); err != nil {
		t.Errorf("Begin of a counter without a period, above a floor = %v", err)
	}
	if r, err := src.Fetch(ctx, never.Tag, 0); err != nil || r.From != 1 {
		t.Errorf("a counter without a period = %v, %v, want it at 1", r, err)
	}
	if _, err := src.Clear(ctx, "nobody", 1); err == nil {
		t.Error("Clear of a name that there is not succeeds")
	}
}
