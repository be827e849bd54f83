package uid_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestTakerInPlaceOfPad gives a caller of an empty ring to the user's function, and not to the
// default policy.
func TestTakerInPlaceOfPad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopIt := errors.New("stop")
		var reasons []error
		o := uid.Both{SeqStart: 1, BoostPower: uid.NoBoost, TakeFunc: func(_ context.Context, reason error) error {
			reasons = append(reasons, reason)
			return stopIt
		}}
		c := cachedAt(t, o, uid.NewTestClock())
		c.StopPadder()
		time.Sleep(300 * time.Millisecond)
		if n, err := c.Fill(t.Context(), make([]uid.ID, 10_000)); n != 8192 || !errors.Is(err, stopIt) {
			t.Errorf("Fill() = %d, %v, want the ring's 8192 and the function's error", n, err)
		}
		if s := c.Stats(); len(reasons) != 1 || !errors.Is(reasons[0], uid.ErrEmpty) || s.Pads != 0 {
			t.Errorf("the function got %v, %d paddings by the caller, want ErrEmpty once and none", reasons, s.Pads)
		}
	})
}

// TestTakerWithoutEnd calls with a ctx that is over, and a function that always wants another try.
func TestTakerWithoutEnd(t *testing.T) {
	for kind, start := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				a := &claimtest.Memory{From: time.Now().Add(time.Hour), Length: time.Hour}
				g := uid.Open(t, start, a, uid.Both{MaxLead: time.Second,
					TakeFunc: func(_ context.Context, reason error) error {
						if calls++; calls > 1000 || !errors.Is(reason, uid.ErrLead) {
							return reason
						}
						return nil
					}}, uid.NewTestClock())
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := g.Next(ctx); !errors.Is(err, context.Canceled) ||
					!errors.Is(err, uid.ErrLead) || calls != 1 {
					t.Errorf("Next() = %v after %d calls, want the reason and the ctx's error after one", err, calls)
				}
			})
		})
	}
}

// TestTakerAtWindowEnd meets the end of a window while it is being extended. That is no error of
// the generator. A caller of Cached that may not wait finds an empty ring; a caller of Default
// waits, as its options say: policies count at MaxLead only.
func TestTakerAtWindowEnd(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, withFunc := range []bool{true, false} {
			o := uid.Both{TakePolicy: uid.TakeReject}
			var reason error
			if withFunc {
				o.TakeFunc = func(_ context.Context, r error) error {
					reason = r
					return r
				}
			}
			a := newMemory(8 * time.Second)
			a.Before = before(claimtest.OpExtend, hangs)
			bubble(t, kind, a, o, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				want, rejects := uid.ErrEmpty, int64(1)
				if kind == "default" { // needs the time to pass, Cached has composed up to the end at once
					time.Sleep(8*time.Second - time.Nanosecond)
					want, rejects = context.DeadlineExceeded, 0
				}
				ctx := within(t, time.Second)
				var err error
				for ids := make([]uid.ID, 1<<17); err == nil; {
					_, err = g.Fill(ctx, ids)
				}
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", kind, err, want)
				}
				if withFunc && (kind == "default") != (reason == nil) {
					t.Errorf("%s: the function got %v", kind, reason)
				}
				if s := g.Stats(); s.Err != nil || !withFunc && s.RejectsEmpty != rejects {
					t.Errorf("%s: Stats().Err = %v, RejectsEmpty = %d, want nil and %d",
						kind, s.Err, s.RejectsEmpty, rejects)
				}
			})
		}
	}
}

// TestTakerWhilePadderStands extends a window, late, while the padder stands still: a caller that waits at
// the window's end is woken all the same, and fills the ring.
func TestTakerWhilePadderStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newPlace(8 * time.Second)
		extend := a.slow()
		c := uid.Open(t, uid.NewCachedAt, a, uid.Both{SeqStart: 1, BoostPower: uid.NoBoost}, uid.NewTestClock())
		time.Sleep(5 * time.Second) // the keeper has begun to extend
		c.StopPadder()
		time.Sleep(500 * time.Millisecond)
		done := make(chan error, 1)
		ctx := within(t, 20*time.Second)
		go func() {
			_, err := c.Fill(ctx, make([]uid.ID, 10*8192)) // the window has room for half of them
			done <- err
		}()
		time.Sleep(time.Second)
		select {
		case err := <-done:
			t.Fatalf("Fill() = %v, want it to wait", err)
		default:
		}
		close(extend)
		at := time.Now()
		if err := <-done; err != nil || time.Since(at) != 0 {
			t.Errorf("Fill() = %v after %v, want it to go on at once", err, time.Since(at))
		}
	})
}

// TestTakerAtTheLastTick makes generators in the layout's last tick and after it, with windows
// that begin in the last and after it.
func TestTakerAtTheLastTick(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		for _, tc := range []struct {
			at, from time.Duration // of the 1024 s that the layout has; from 0: open
			want     error
		}{{0, 0, nil}, {1023 * time.Second, 0, nil}, {1024*time.Second - 1, 0, nil},
			{1024 * time.Second, 0, uid.ErrExhausted}, {1025 * time.Second, 0, uid.ErrExhausted},
			{time.Second, 1023 * time.Second, nil},
			{time.Second, 1023*time.Second + 1, uid.ErrExhausted},
			{time.Second, 1024 * time.Second, uid.ErrExhausted}} {
			synctest.Test(t, func(t *testing.T) {
				// All 63 bits: what is beyond overflows.
				l := bitsalloc.Layout{TimeBits: 10, WorkerBits: 40, SeqBits: 13, Epoch: time.Now()}
				a := &claimtest.Memory{Length: claimtest.Endless}
				if tc.from > 0 {
					a.From = time.Now().Add(tc.from)
				}
				time.Sleep(tc.at)
				g, err := start(t.Context(), a, &uid.Both{Layout: l}, uid.NewTestClock())
				if !errors.Is(err, tc.want) {
					t.Errorf("%s at %v, window from %v: %v, want %v", kind, tc.at, tc.from, err, tc.want)
				}
				if err != nil {
					return
				}
				defer g.Close()
				if p := g.Parse(mustNext(t, g)); p.Tick != int64(max(tc.at, tc.from)/time.Second) {
					t.Errorf("%s at %v, window from %v: the first id is %+v", kind, tc.at, tc.from, p)
				}
				time.Sleep(time.Hour)
				if id, err := g.Next(t.Context()); !errors.Is(err, uid.ErrExhausted) {
					t.Errorf("%s: an hour after the end: %+v, %v, want ErrExhausted", kind, g.Parse(id), err)
				}
			})
		}
	}
}

// TestTakerBeforeTheEpoch sets the clock back to before the epoch: MaxLead bounds the ids against
// the epoch then.
func TestTakerBeforeTheEpoch(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			o := uid.Both{Layout: bitsalloc.Layout{Epoch: time.Now()},
				MaxLead: 20 * time.Second, TakePolicy: uid.TakeReject,
				Rollback: uid.RollbackHold(2 * time.Hour)}
			g := uid.Open(t, start, claimtest.Static(1), o, clock)
			time.Sleep(10 * time.Minute)
			mustNext(t, g)
			clock.Step(-time.Hour)
			got, err := 0, error(nil)
			for ; got < 1<<18; got++ {
				if _, err = g.Next(t.Context()); err != nil {
					if errors.Is(err, uid.ErrEmpty) && !errors.Is(err, uid.ErrLead) {
						synctest.Wait()
						continue
					}
					break
				}
			}
			if !errors.Is(err, uid.ErrLead) {
				t.Errorf("%s: %d ids ten minutes ahead of a clock that is before the epoch, then "+
					"%v, want ErrLead soon", kind, got, err)
			}
		})
	}
}
