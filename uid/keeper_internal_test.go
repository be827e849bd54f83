package uid

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// TestKeeperToken kicks a keeper that does not listen: it finds the kick when it does, and kicks do
// not add up. A window of two nanoseconds is published like any other.
func TestKeeperToken(t *testing.T) {
	t.Parallel()
	d, err := NewDefault(t.Context(), claimtest.Static(1), nil) // nothing to keep: no goroutine
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	k := d.keeper
	for range 3 {
		k.kick()
	}
	if n := len(k.wake); n != 1 {
		t.Errorf("%d kicks wait, want 1", n)
	}
	k.length = 2
	w := &window{worker: 1, until: time.Now()}
	if k.publish(w, forever); k.window.Load() != w || k.ahead != 1 {
		t.Errorf("a window of 2 ns is extended %v before its end, want 1 ns", k.ahead)
	}
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
			k := Open(t, NewDefaultAt, a, Both{}, NewTestClock()).keeper
			k.stop()
			k.wg.Wait()
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
