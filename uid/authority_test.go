package uid_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestAuthorityOfflineAtEnd lets callers wait at the window's end for an extension that fails in
// the end: they hear of it at once, and at the latest when an authority that does not answer had
// its ten seconds.
func TestAuthorityOfflineAtEnd(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, tc := range []struct {
			name         string
			answer, want time.Duration // how long Extend would take to fail, and does
		}{{"fails", 7 * time.Second, 7 * time.Second}, {"hangs", time.Hour, 10 * time.Second}} {
			a := newMemory(8 * time.Second)
			a.Before = before(claimtest.OpExtend, func(ctx context.Context) error {
				select {
				case <-time.After(tc.answer):
					return errDown
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			bubble(t, kind, a, uid.Both{TakePolicy: uid.TakeWait,
				BoostPower: uid.NoBoost}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				ctx := within(t, time.Minute)
				for {
					_, err := g.Next(ctx)
					if err == nil {
						time.Sleep(100 * time.Millisecond)
						continue
					}
					want := extensions(a)[0].at + tc.want
					if now := time.Since(bubbleStart); !errors.Is(err, uid.ErrClaimExpired) ||
						now != want || now < a.Length+time.Second/2 {
						t.Errorf("%s, an authority that %s: %v at %v, want ErrClaimExpired at %v",
							kind, tc.name, err, now, want)
					}
					break
				}
			})
		}
	}
}

// TestAuthorityAtClose closes generators whose authority is being asked for an extension: Release
// comes when that call has returned, not during it it, and nothing is logged, because nothing is
// wrong.
func TestAuthorityAtClose(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		logger, log := newLogged()
		var extending, during atomic.Bool
		a := newMemory(8 * time.Second)
		a.Before = func(ctx context.Context, c claimtest.Call) error {
			switch c.Op {
			case claimtest.OpExtend:
				extending.Store(true)
				<-ctx.Done()
				time.Sleep(time.Second) // the connection takes its time to give up
				extending.Store(false)
				return ctx.Err()
			case claimtest.OpRelease:
				during.Store(extending.Load())
			}
			return nil
		}
		bubble(t, kind, a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			time.Sleep(5 * time.Second)
			if !extending.Load() {
				t.Fatal("the window is not being extended")
			}
			if err := g.Close(); err != nil || during.Load() {
				t.Errorf("%s: Close() = %v, Release during Extend: %v", kind, err, during.Load())
			}
			time.Sleep(time.Minute)
			if n := log.of("claim not extended"); n != 0 {
				t.Errorf("%s: Close logs a failure", kind)
			}
		})
	}
}

// TestAuthorityHangsAtClose closes generators whose authority does not answer any more.
func TestAuthorityHangsAtClose(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := newMemory(time.Hour)
		a.Before = before(claimtest.OpRelease, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Hour):
				return nil
			}
		})
		bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			if err := g.Close(); !errors.Is(err, context.DeadlineExceeded) || time.Since(bubbleStart) != 5*time.Second {
				t.Errorf("%s: Close() = %v after %v, want the deadline after 5 s", kind, err, time.Since(bubbleStart))
			}
		})
	}
}

// TestAuthorityReassigns gives a generator whose ring has run empty a new worker id: the ring is
// full at once, without a call.
func TestAuthorityReassigns(t *testing.T) {
	t.Parallel()
	a := losing(8 * time.Second)
	bubble(t, "cached", a, uid.Both{TakePolicy: uid.TakeReject, MaxLag: time.Hour},
		func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			a.Fail(errDown, claimtest.OpAssign)
			for ids := make([]uid.ID, 1<<16); ; time.Sleep(time.Millisecond) {
				if _, err := g.Fill(t.Context(), ids); errors.Is(err, assigner.ErrClaimLost) {
					break
				}
			}
			a.Set(func(m *claimtest.Memory) { m.Length = time.Hour })
			a.Fail(nil, claimtest.OpAssign)
			for g.Stats().Worker == 0 {
				time.Sleep(time.Millisecond)
			}
			synctest.Wait()
			if s := g.Stats(); s.Len != s.Cap {
				t.Errorf("%d of %d ids in the ring within a millisecond of the new claim, want it full", s.Len, s.Cap)
			}
		})
}

// TestAuthorityTellsTheTime: the authority is asked for the time when the clock has jumped, and
// only then; what comes with an error does not count; and callers that wait for the clock hear at
// once that a jump was confirmed.
func TestAuthorityTellsTheTime(t *testing.T) {
	t.Parallel()
	a := newMemory(6 * time.Hour)
	a.From = bubbleStart.Add(3 * time.Hour)
	a.After = before(claimtest.OpNow, func(context.Context) error { return errDown })
	bubble(t, "default", a, uid.Both{MaxLead: time.Second},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			time.Sleep(100 * time.Minute) // the keeper looks every hour
			if nows := len(a.Calls(claimtest.OpNow)); nows != 1 {
				t.Errorf("asked for the time %d times, want once, to measure the window: the clock is as it was", nows)
			}
			a.Step(5 * time.Hour)
			clock.Step(5 * time.Hour)
			ctx := within(t, time.Minute)
			if id, err := g.Next(ctx); err == nil || g.Stats().ClockHeld != 5*time.Hour {
				t.Errorf("%v, held %v, want the jump held while the authority does not answer",
					g.Parse(id), g.Stats().ClockHeld)
			}
			if nows := len(a.Calls(claimtest.OpNow)); nows == 1 {
				t.Error("the authority is not asked for the time")
			}
			clock.Step(-5 * time.Hour)
			a.Step(-5 * time.Hour)
			g.Stats()
			a.Set(func(m *claimtest.Memory) { m.After = nil })
			time.Sleep(time.Minute)
			go func() {
				time.Sleep(500 * time.Millisecond)
				a.Step(5 * time.Hour)
				clock.Step(5 * time.Hour)
			}()
			nextIn(t, g, time.Second, time.Second, "it reads the clock at the end of the second")
		})
}

// TestAuthorityNotNeeded: a claim without an end and without a clock needs no keeper.
func TestAuthorityNotNeeded(t *testing.T) {
	keepers := func() int {
		buf := make([]byte, 1<<20)
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), "uid.(*keeper).loop(")
	}
	for kind, start := range kinds {
		for _, tc := range []struct {
			a    assigner.Assigner
			want int
		}{{claimtest.Static(1), 0}, {&claimtest.Memory{Length: time.Hour}, 1},
			{&claimtest.Memory{Length: claimtest.Endless, TellTime: true}, 1}} {
			before := keepers()
			g := uid.Open(t, start, tc.a, uid.Both{}, uid.NewTestClock())
			for i := 0; tc.want > 0 && keepers() == before && i < 10_000; i++ {
				runtime.Gosched() // until it has begun
			}
			if got := keepers() - before; got != tc.want {
				t.Errorf("%s: %T has %d keepers, want %d", kind, tc.a, got, tc.want)
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
