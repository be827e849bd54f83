package uid

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestKeeperToken kicks a keeper that does not listen: it finds the kick when it does, and kicks do
// not add up. A window of two nanoseconds is published like any other.
func TestKeeperToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// Nothing to keep: no goroutine.
		k := Open(t, NewDefaultAt, claimtest.Static(1), Both{}, NewTestClock()).keeper
		for range 3 {
			k.kick()
		}
		synctest.Wait()
		if n := len(k.wake); n != 1 {
			t.Errorf("%d kicks wait, want 1", n)
		}
		k.length = 2
		w := &window{worker: 1, until: time.Now()}
		if k.publish(w, forever); k.window.Load() != w || k.ahead != 1 {
			t.Errorf("a window of 2 ns is extended %v before its end, want 1 ns", k.ahead)
		}
	})
}

// TestKeeperForgetsShortWindow has an authority grant less than it is asked for, and then all of it, by
// an extension or with a new claim: the pace for short windows ends.
func TestKeeperForgetsShortWindow(t *testing.T) {
	t.Parallel()
	for what, renew := range map[string]func(context.Context, *keeper) error{
		"extend": func(ctx context.Context, k *keeper) error { return k.extend(ctx, k.window.Load()) },
		"assign": func(ctx context.Context, k *keeper) error { return k.assign(ctx) },
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &claimtest.Memory{Length: 10 * time.Minute}
			a.Grant = func(asked time.Time) time.Time { return asked.Add(-2 * time.Minute) }
			k := stoppedKeeper(t, a, Both{})
			time.Sleep(5 * time.Minute)
			if err := k.extend(t.Context(), k.window.Load()); err != nil || k.slow != keeperSlow || k.rest.IsZero() {
				t.Fatalf("a short window: %v, %v to the next extension, none before %v", err, k.slow, k.rest)
			}
			a.Set(func(a *claimtest.Memory) { a.Grant = nil })
			time.Sleep(time.Minute)
			if err := renew(t.Context(), k); err != nil || k.slow != 0 || !k.rest.IsZero() {
				t.Errorf("%s: %v, %v to the next extension, none before %v, want no bound", what, err, k.slow, k.rest)
			}
		})
	}
}

// stoppedKeeper returns the keeper of a Default of the bubble, whose goroutine has ended.
func stoppedKeeper(t *testing.T, a *claimtest.Memory, o Both) *keeper {
	t.Helper()
	k := Open(t, NewDefaultAt, a, o, NewTestClock()).keeper
	k.stop()
	k.wg.Wait()
	return k
}

// TestKeeperPaceOfGrant has an authority grant less than it is asked for: an eighth less is enough, and
// where what is left is over in a moment, the next extension is 10 ms away at the least.
func TestKeeperPaceOfGrant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ less, slow time.Duration }{
		{time.Minute, 0}, {time.Minute + 1, keeperSlow}, {8*time.Minute - 1500*time.Microsecond, keeperPauseMin},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := &claimtest.Memory{Length: 8 * time.Minute}
			l := bitsalloc.Layout{TimeBits: 45, WorkerBits: 10, SeqBits: 8, Tick: 100 * time.Microsecond,
				Epoch: time.Now().Add(-time.Hour)}
			k := stoppedKeeper(t, a, Both{Layout: l})
			time.Sleep(8*time.Minute - time.Millisecond)
			a.Set(func(a *claimtest.Memory) {
				a.Grant = func(asked time.Time) time.Time { return asked.Add(-tt.less) }
			})
			if err := k.extend(t.Context(), k.window.Load()); err != nil || k.slow != tt.slow {
				t.Errorf("%v less: %v, %v to the next extension, want %v", tt.less, err, k.slow, tt.slow)
			}
		})
	}
}

// TestKeeperDueOfShortWindow moves the front of a short window to half of what was left: it is due then,
// however much time is left.
func TestKeeperDueOfShortWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := stoppedKeeper(t, &claimtest.Memory{Length: time.Hour}, Both{})
		left := k.window.Load().until.Sub(k.needs())
		k.publish(k.window.Load(), left)
		front := k.window.Load().until.Add(-left / 2)
		k.front = func() time.Time { return front.Add(-1) }
		if due := k.due(); due != left/2 {
			t.Errorf("above half of what was left: due in %v, want %v", due, left/2)
		}
		k.front = func() time.Time { return front }
		if due := k.due(); due != 0 {
			t.Errorf("at half of what was left: due in %v", due)
		}
	})
}

// TestKeeperPublishesWhole replaces a claim: the window that others see is complete when they see it.
func TestKeeperPublishesWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := NewTestClock()
		k := Open(t, NewDefaultAt, &claimtest.Memory{Length: time.Hour}, Both{}, clock).keeper
		k.stop()
		k.wg.Wait()
		clock.OnRead = func() {
			if k.window.Load().extended.IsZero() {
				t.Error("a window is in use that was extended at no time")
			}
		}
		if err := k.assign(t.Context()); err != nil || k.made.Load() != 2 {
			t.Errorf("%d claims, %v, want two", k.made.Load(), err)
		}
	})
}

// asked is an error that counts how often it is asked what it is.
type asked struct{ times *int }

func (e asked) Error() string { return "asked" }

func (e asked) Is(error) bool { *e.times++; return false }

// TestSaidIsNotAsked: what the keeper asks of an authority's error was asked by the call that returned it.
func TestSaidIsNotAsked(t *testing.T) {
	t.Parallel()
	times := 0
	err := judge(asked{&times})
	before := times
	for _, target := range []error{assigner.ErrClaimLost, assigner.ErrSuperseded, assigner.ErrBeyondReach,
		errNotGrown, errBehind} {
		if errors.Is(err, target) || times != before {
			t.Errorf("the authority's error is asked whether it is %v", target)
		}
	}
	for _, kind := range []error{ErrClaimExpired, ErrLead, assigner.ErrClaimLost, assigner.ErrSuperseded} {
		reason := &claimError{kind: kind, cause: err, head: kind.Error(), text: "why"}
		if got := kindOf(reason); got != kind || times != before {
			t.Errorf("the kind of %v is %v, and the authority's error was asked %d times", reason, got, times-before)
		}
		head := kind.Error()
		if kind == ErrClaimExpired { // it is not, yet
			head = "uid"
		}
		if got := pending(reason).Error(); got != head+": why" {
			t.Errorf("while the window lasts, %v is %q", reason, got)
		}
	}
}
