package uid_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestTakePolicies empties rings that the padder may not fill.
func TestTakePolicies(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	calls := 0
	for _, tc := range []struct {
		name string
		o    uid.Both
		want error
	}{
		{"reject", uid.Both{TakePolicy: uid.TakeReject}, uid.ErrLead},
		{"func", uid.Both{TakeFunc: func(_ context.Context, reason error) error {
			if !errors.Is(reason, uid.ErrLead) && !errors.Is(reason, uid.ErrEmpty) {
				return fmt.Errorf("reason %w", reason)
			}
			if calls++; calls < 3 {
				return nil
			}
			return stop
		}}, stop},
	} {
		synctest.Test(t, func(t *testing.T) {
			tc.o.MaxLead = time.Nanosecond
			c := cachedAt(t, tc.o, uid.NewTestClock())
			for {
				_, err := c.Next(t.Context())
				if errors.Is(err, uid.ErrEmpty) {
					synctest.Wait()
					continue
				}
				if err != nil {
					if !errors.Is(err, tc.want) {
						t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
					}
					return
				}
			}
		})
	}
}

// TestTakeFuncPanics lets a user's function panic in the middle: the generator is whole afterwards.
func TestTakeFuncPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		boom := true
		c := cachedAt(t, uid.Both{MaxLead: time.Nanosecond, TakeFunc: func(context.Context, error) error {
			if boom {
				panic("boom")
			}
			time.Sleep(time.Second)
			return nil
		}}, uid.NewTestClock())
		seen := map[uid.ID]bool{}
		panics := 0
		for len(seen) < 3*8192 {
			func() {
				defer func() {
					if recover() != nil {
						panics++
						boom = false
					}
				}()
				id := mustNext(t, c)
				if seen[id] {
					t.Fatalf("the id %d was repeated", id)
				}
				seen[id] = true
			}()
		}
		if panics != 1 {
			t.Errorf("%d panics, want 1", panics)
		}
	})
}

// TestParse checks the original's text form of an id.
func TestParse(t *testing.T) {
	t.Parallel()
	a := allocator(t, bitsalloc.Layout{})
	id, err := a.Compose(86400, 7, 9)
	if err != nil {
		t.Fatal(err)
	}
	p := uid.ParseParts(a, uid.ID(id))
	want := uid.Parts{ID: uid.ID(id), Time: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Tick: 86400, Worker: 7, Seq: 9}
	if p != want {
		t.Errorf("ParseParts() = %+v, want %+v", p, want)
	}
}

// TestLastIDOfAll lets the very last id of a 63-bit layout, 2^63-1, grow stale in the ring, or in a
// lane: it is dropped as any other.
func TestLastIDOfAll(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ run, taken, inRing int }{{1, 10, 118}, {32, 106, 0}} {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{TimeBits: 10, WorkerBits: 48, SeqBits: 5, Epoch: time.Now()}
			time.Sleep(1020 * time.Second) // four ticks of 32 ids are left
			c := uid.Open(t, uid.NewCachedAt, claimtest.Static(1<<48-1),
				uid.Both{Layout: l, RunLength: tc.run, SeqStart: 1}, uid.NewTestClock())
			last := uid.ID(0)
			for range tc.taken {
				last = mustNext(t, c)
			}
			if s := c.Stats(); s.Len != int64(tc.inRing) || !s.Position.Equal(s.Expires) {
				t.Fatalf("%d ids are in the ring up to %v, want %d up to the end", s.Len, s.Position, tc.inRing)
			}
			time.Sleep(time.Hour)
			if id, err := c.Next(t.Context()); !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("an hour after the end of time: %d, %v after %d, want ErrExhausted", id, err, last)
			}
		})
	}
}

// TestRejectsExhausted counts the calls that fail because the time bits are used up.
func TestRejectsExhausted(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 5, WorkerBits: 2, SeqBits: 4, Epoch: bubbleStart}
	for kind := range kinds {
		bubble(t, kind, endless(), uid.Both{Layout: l}, func(t *testing.T, g uid.Generator,
			_ *uid.TestClock) {
			time.Sleep(time.Minute)
			for range 3 {
				if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrExhausted) {
					t.Errorf("%s: %v, want ErrExhausted", kind, err)
				}
			}
			if n := g.Stats().RejectsExhausted; n != 3 {
				t.Errorf("%s: RejectsExhausted = %d, want 3", kind, n)
			}
		})
	}
}

// TestClaimAfterTheEnd gets a claim whose window begins when the time bits end: it is given back.
func TestClaimAfterTheEnd(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{TimeBits: 5, WorkerBits: 2, SeqBits: 4, Epoch: time.Now()}
			a := newPlace(claimtest.Endless)
			a.From = allocator(t, l).Expires()
			_, err := start(t.Context(), a, &uid.Both{Layout: l}, uid.NewTestClock())
			released := a.Calls(claimtest.OpRelease)
			if !errors.Is(err, uid.ErrExhausted) || len(released) != 1 || !released[0].Asked.IsZero() {
				t.Errorf("%s: %v, released %+v, want ErrExhausted, once unused", kind, err, released)
			}
		})
	}
}

// TestRejectsEmpty counts the calls that find no id with TakeReject.
func TestRejectsEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{TakePolicy: uid.TakeReject}, uid.NewTestClock())
		c.StopPadder()
		c.Empty()
		if _, err := c.Next(t.Context()); !errors.Is(err, uid.ErrEmpty) || c.Stats().RejectsEmpty != 1 {
			t.Errorf("Next: %v, RejectsEmpty = %d, want ErrEmpty and 1", err, c.Stats().RejectsEmpty)
		}
	})
}
