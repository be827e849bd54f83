package uid

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// windowClaim is a claim of worker 1 on a window.
type windowClaim struct{ from, until time.Time }

func (c windowClaim) Worker() int64                                        { return 1 }
func (c windowClaim) Window() (from, until time.Time)                      { return c.from, c.until }
func (c windowClaim) Release(context.Context, time.Time) error             { return nil }
func (c windowClaim) Extend(context.Context, time.Time) (time.Time, error) { return c.until, nil }

// TestTicksOfWindow translates windows into the ticks that lie inside from their first to their
// last instant.
func TestTicksOfWindow(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 10, WorkerBits: 10, SeqBits: 10,
		Epoch: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
	eras, err := bitsalloc.NewEras(l)
	if err != nil {
		t.Fatal(err)
	}
	line := newTimeline(eras, 0)
	const s, ns = time.Second, time.Nanosecond
	for _, tc := range []struct {
		from, until time.Duration // since the epoch; 0: open
		first, end  int64
	}{
		{0, 0, 0, 1024},
		{5 * s, 9 * s, 5, 9},
		{5*s + ns, 9*s - ns, 6, 8},
		{5*s - ns, 9*s + ns, 5, 9},
		{5*s + ns, 5*s + 2*ns, 6, 5}, // no whole tick
		{-9 * s, 3 * s, 0, 3},
		{-9 * s, -3 * s, 0, 0},
		{1000 * s, 2000 * s, 1000, 1024},
		{1023 * s, 1024 * s, 1023, 1024},
		{3000 * s, 4000 * s, 1024, 1024},
	} {
		var c windowClaim
		if tc.from != 0 {
			c = windowClaim{l.Epoch.Add(tc.from), l.Epoch.Add(tc.until)}
		}
		g, err := newWindow(line, c)
		if err != nil {
			t.Fatal(err)
		}
		if g.from != uint64(tc.first)<<20 || g.end != uint64(tc.end)<<20 || g.worker != 1 ||
			!g.start.Equal(c.from) || !g.until.Equal(c.until) {
			t.Errorf("the window from %v to %v gives %+v, want the ticks %d to %d",
				tc.from, tc.until, g, tc.first, tc.end)
		}
		for _, tick := range []int64{max(0, tc.end-1), tc.end, 1023, 1024, 1025} {
			want := errExtending
			if tick < tc.end {
				want = nil
			} else if tick > 1023 {
				want = ErrExhausted
			}
			if err := line.covers(g, uint64(tick)<<20|17); !errors.Is(err, want) {
				t.Errorf("the window from %v to %v permits tick %d: %v, want %v", tc.from, tc.until, tick, err, want)
			}
		}
		g.err = assigner.ErrClaimLost
		if err := line.covers(g, uint64(tc.end)<<20); tc.end < 1024 && !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("after the end of a lost claim: %v", err)
		}
	}
}

// TestWindowWallTime: a window's times are those of the wall clock alone, whatever the claim's carry. A
// difference of two that carry a monotonic time would not see that the clock was set.
func TestWindowWallTime(t *testing.T) {
	t.Parallel()
	eras, err := bitsalloc.NewEras(bitsalloc.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	w, err := newWindow(newTimeline(eras, 0), windowClaim{now, now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if w.start != now.Round(0) || w.until != now.Add(time.Hour).Round(0) {
		t.Errorf("window = %v to %v, want no monotonic time", w.start, w.until)
	}
}
