package uid_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestBaiduExpired: 7.F1, 7.O5, 8.F11. The original's default layout ran out in 2024: its default
// generator refuses, its cached one goes on with negative ids.
func TestBaiduExpired(t *testing.T) {
	t.Parallel()
	l := compat.Baidu()
	if second := int64(1 << 28); second<<35 >= 0 {
		t.Fatalf("the original's cached generator gives %d after its last second, want a negative id", second<<35)
	}
	for name, make := range kinds {
		if _, err := make(t.Context(), claimtest.Static(1), &uid.Both{Layout: l},
			uid.NewTestClock()); !errors.Is(err, uid.ErrExhausted) {
			t.Errorf("%s on the original's epoch: %v, want ErrExhausted", name, err)
		}
	}
}

// TestBaiduEpochAhead: 7.F6. An epoch in the future gives negative ids in the original; here it is
// refused.
func TestBaiduEpochAhead(t *testing.T) {
	t.Parallel()
	if second := int64(-3600); second<<35 >= 0 {
		t.Fatal("the model is wrong")
	}
	for name, make := range kinds {
		o := &uid.Both{Layout: bitsalloc.Layout{Epoch: time.Now().Add(time.Hour)}}
		if _, err := make(t.Context(), claimtest.Static(1), o, uid.NewTestClock()); !errors.Is(err, uid.ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", name, err)
		}
	}
}

// TestBaiduCachedTimeFreezes: 8.F9. At 1,000 ids a second the original's ring, which holds whole
// seconds of 8,192 ids, falls behind by 7 seconds in 8 of them, for ever.
func TestBaiduCachedTimeFreezes(t *testing.T) {
	t.Parallel()
	const rate, seconds = 1000, 3600
	if lag := seconds - rate*seconds/8192; lag < 3000 {
		t.Fatalf("the original is %d s behind after an hour, want over 3000", lag)
	}
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{}, uid.NewTestClock())
		ids := make([]uid.ID, rate)
		for range seconds {
			time.Sleep(time.Second)
			mustFill(t, c, ids)
		}
		if lag := time.Since(c.Parse(ids[rate-1]).Time).Abs(); lag > 2*time.Second {
			t.Errorf("after an hour at %d a second the stamps are %v off", rate, lag)
		}
	})
}

// TestBaiduCachedBurns: 8.F6 and 8.F7. The original throws the rest of a second away at every full
// ring, and starts a padding task at every take below the threshold: at 1,000,000 ids a second it
// burns 828 to 997 seconds a second where 122 are needed.
func TestBaiduCachedBurns(t *testing.T) {
	t.Parallel()
	// The original: each padding task composes whole seconds until the ring is full and drops what
	// found no room.
	const ring = 65536
	left, seconds, issued := ring, 0, 0
	for range 100_000 {
		left--
		issued++
		if left < ring/2 {
			for left < ring {
				seconds++
				left = min(ring, left+8192)
			}
			seconds++ // the second whose first id was rejected, or whose rest was
		}
	}
	if wasted := seconds*8192 - (issued - ring/2); wasted <= 0 {
		t.Fatalf("the original's logic wastes %d ids; the model is wrong", wasted)
	}
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{SeqStart: 1}, uid.NewTestClock())
		first := c.Parse(mustNext(t, c)).Tick
		ids := make([]uid.ID, 10_000)
		total := 1
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			mustFill(t, c, ids)
			total += len(ids)
		}
		if burnt, want := c.Parse(ids[len(ids)-1]).Tick-first, int64(total-1)/8192; burnt != want {
			t.Errorf("%d ids in ten seconds took %d ticks, want %d", total, burnt, want)
		}
	})
}

// TestBaiduCachedWideSequence: 8.F12. Where seqBits + boostPower is 26 or more, 32-bit arithmetic
// never sees the original's threshold.
func TestBaiduCachedWideSequence(t *testing.T) {
	t.Parallel()
	size := int32(1) << 26
	if threshold := size * 50 / 100; threshold > 0 {
		t.Fatalf("the original's threshold is %d, want it overflown", threshold)
	}
	for seqBits, fills := range map[int]int{23: 66, 28: 4, 31: 4, 36: 4} {
		o := &uid.Both{Layout: bitsalloc.Layout{TimeBits: 26, WorkerBits: 1, SeqBits: seqBits}}
		o.Layout.Tick = 10 * time.Second
		c := newCached(t, o)
		ids := make([]uid.ID, 1<<20)
		var last uid.ID
		for range fills { // 66 of them: 69 million, more than the original ever hands out
			if _, err := c.Fill(t.Context(), ids); err != nil {
				t.Fatalf("seqBits %d: %v", seqBits, err)
			}
			if ids[0] <= last {
				t.Fatalf("seqBits %d: %d came after %d", seqBits, ids[0], last)
			}
			last = ids[len(ids)-1]
		}
	}
}
