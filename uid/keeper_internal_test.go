package uid

import (
	"testing"
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
