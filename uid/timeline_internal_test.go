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
	eras, err := bitsalloc.NewEras(bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 4, Epoch: begin},
		bitsalloc.Era{From: begin.Add(time.Hour), Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 4}})
	if err != nil {
		t.Fatal(err)
	}
	l := newTimeline(eras, 0)
	for _, tc := range []struct{ at, want time.Duration }{
		{0, 0}, {time.Second, 0}, {time.Minute, 59 * time.Second}, {time.Hour, time.Hour - time.Second},
		{time.Hour + time.Second, time.Hour},
	} {
		tick := l.at(begin.Add(tc.at))
		for pos, want := range map[uint64]time.Duration{tick: tc.want, tick + 1: tc.at} {
			if got := l.time(l.before(l.of(pos).number(pos, 3))).Sub(begin); got != want {
				t.Errorf("before position %d of the tick at %v: %v, want %v", pos-tick, tc.at, got, want)
			}
		}
	}
}
