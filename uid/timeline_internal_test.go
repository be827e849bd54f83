package uid

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// TestTickBefore goes back over ticks and an era: the tick of the number before is its own tick, or
// the last one that was used before it.
func TestTickBefore(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	first := bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 4, FirstTick: 6, Epoch: begin}
	eras, err := bitsalloc.NewEras(first,
		bitsalloc.Era{From: begin.Add(time.Hour + time.Second), // in the middle of four of its own ticks
			Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 6}})
	if err != nil {
		t.Fatal(err)
	}
	l := newTimeline(eras, 0)
	for _, tc := range []struct{ at, want time.Duration }{
		{0, 0}, {time.Second, 0}, {time.Minute, 59 * time.Second}, {time.Hour, time.Hour - time.Second},
		{time.Hour + time.Second, time.Hour}, {time.Hour + 2*time.Second, time.Hour + time.Second},
	} {
		tick := l.at(begin.Add(tc.at))
		for pos, want := range map[uint64]time.Duration{tick: tc.want, tick + 1: tc.at} {
			for _, worker := range []int64{0, 3} {
				if got := l.before(l.of(pos).number(pos, worker)); got != l.at(begin.Add(want)) {
					t.Errorf("before position %d of the tick at %v: %v, want %v", pos-tick, tc.at,
						l.time(got).Sub(begin), want)
				}
			}
		}
	}
	if got := l.before(l.at(begin) - 1); got != 5<<14 { // below all eras
		t.Errorf("before the last position below the first tick, 6: %d<<14", got>>14)
	}
}
