package zookeeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
)

// TestErasAnnounced begins where a process died that had announced a layout: a claim that does not
// know the layout is cut at its begin; the next claim that knows it settles it, or takes it back if
// a window reaches further.
func TestErasAnnounced(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	const layoutA, layoutB = "28-22-13-0/1s@2026-01-01T00:00:00Z", "36-14-13-0/1s+99999999@"
	process := func(list string) (*zookeeper.Assigner, assigner.Assigner) {
		a := open(t, s.addr, zookeeper.Options{Instance: list})
		return a, a.BindLayout(list)
	}
	a, bound := process(layoutA)
	old := claim(t, bound)
	from := until(old).Add(10 * time.Minute).Truncate(time.Second)
	later := layoutB + from.Format(time.RFC3339Nano)
	both, announced := layoutA+","+later, layoutA+"|"+later
	heading := func(want, to string) {
		t.Helper()
		if got, err := a.Layout(t.Context(), ""); err != nil || got != want {
			t.Errorf("the layout node has %q, %v, want %q", got, err, want)
		}
		if to == "" {
			return
		}
		if _, err := a.Layout(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}

	heading(layoutA, announced)
	if end, err := old.Extend(t.Context(), from.Add(time.Hour)); err != nil || !end.Equal(from) {
		t.Fatalf("Extend beyond an announced layout = %v, %v, want its begin, %v", end, err, from)
	}
	if end, err := old.Extend(t.Context(), from.Add(time.Hour)); !errors.Is(err, assigner.ErrSuperseded) {
		t.Fatalf("Extend at the begin of an announced layout = %v, %v, want ErrSuperseded", end, err)
	}
	// The slot reaches further than the window, so the layout is taken back, and the window may grow.
	_, long := process(both)
	if _, err := long.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Fatalf("Assign with a layout that begins before a window's end: %v", err)
	}
	heading(layoutA, "")
	extend(t, old, from.Add(time.Hour))
	// A layout that begins after all windows is settled by the first claim.
	later = layoutB + until(old).Add(time.Minute).Format(time.RFC3339Nano)
	both = layoutA + "," + later
	heading(layoutA, layoutA+"|"+later)
	_, long = process(both)
	fresh := claim(t, long)
	heading(both, "")
	extend(t, fresh, until(old).Add(time.Hour))
}

// TestErasBegun: once a layout has begun, a process that does not know it gets no claim.
func TestErasBegun(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	const first = "28-22-13-0/1s@2026-01-01T00:00:00Z"
	both := first + ",36-14-13-0/1s+9@" + time.Now().UTC().Add(-time.Minute).Format(time.RFC3339Nano)
	claim(t, open(t, s.addr, zookeeper.Options{}).BindLayout(both))
	if c, err := open(t, s.addr, zookeeper.Options{}).BindLayout(first).Assign(t.Context(),
		maxWorker); !errors.Is(err, assigner.ErrSuperseded) {
		t.Errorf("Assign without a layout that has begun = %v, %v, want ErrSuperseded", c, err)
	}
}
