package lease_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

const layoutA = "28-22-13-0/1s@2026-01-01T00:00:00Z"

// beginning returns a layout that begins at an instant.
func beginning(at time.Time) string {
	return "28-22-13-0/1s@" + at.UTC().Truncate(time.Second).Format(time.RFC3339)
}

// layoutIs fails the test unless the header has a layout.
func layoutIs(t *testing.T, m *memory, want string) {
	t.Helper()
	m.set(func() {
		if h := string(m.entries[lease.HeaderName].Value); !strings.Contains(h, `"layout":"`+want+`"`) {
			t.Errorf("the header is %s, want the layout %q", h, want)
		}
	})
}

// TestNoLayout: a store of claims that name no layout takes one only if it begins after all of their
// windows.
func TestNoLayout(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a := newAssigner(t, m, nil)
	c := assign(t, a)
	extend(t, c, time.Minute)
	late := beginning(until(c).Add(time.Minute))
	for _, layout := range []string{layoutA, layoutA + "," + late} {
		if c, err := a.BindLayout(layout).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrLayoutMismatch) {
			t.Errorf("Assign with layout %s = %v, %v, want ErrLayoutMismatch", layout, c, err)
		}
		layoutIs(t, m, "")
	}
	next := late + ",36-14-13-0/1s+99999999@2060-01-01T00:00:00Z"
	assign(t, a.BindLayout(next))
	layoutIs(t, m, next)
	if _, err := c.Extend(t.Context(), until(c).Add(time.Second)); !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("Extend without a layout, after one was added = %v, want ErrLayoutMismatch", err)
	}
}

// TestNoLayoutAnnounced begins where a process died that had announced the first layout of a store.
// The next claim of that layout takes it back while a window reaches beyond its start.
func TestNoLayoutAnnounced(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a := newAssigner(t, m, nil)
	c := assign(t, a)
	m.edit(lease.HeaderName, `"layout":""`, `"layout":"|`+layoutA+`"`)
	end := until(c)
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, assigner.ErrLayoutMismatch) {
			t.Errorf("%s = %v, want ErrLayoutMismatch", what, err)
		}
	}
	_, err := c.Extend(t.Context(), end.Add(time.Minute))
	refused("Extend without a layout", err)
	_, err = a.Assign(t.Context(), maxWorker)
	refused("Assign without a layout", err)
	if !until(c).Equal(end) {
		t.Errorf("the window ends at %v, want %v", until(c), end)
	}
	// A process that knows a later layout as well does not pass over the one that is announced.
	_, err = a.BindLayout(layoutA+",36-14-13-0/1s+9@2060-01-01T00:00:00Z").Assign(t.Context(), maxWorker)
	refused("Assign with the layout and a later one", err)
	layoutIs(t, m, "")
	extend(t, c, time.Minute)

	m.edit(lease.HeaderName, `"layout":""`, `"layout":"|`+layoutA+`,36-14-13-0/1s+9@2060-01-01T00:00:00Z"`)
	_, err = a.BindLayout(layoutA).Assign(t.Context(), maxWorker)
	refused("Assign with the first of two layouts that are announced", err)
	layoutIs(t, m, "")
}

// TestNoLayoutRestored: Restore makes no header of nothing unless it is told the layouts.
func TestNoLayoutRestored(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a := newAssigner(t, m, nil)
	err := a.Restore(t.Context(), 7, time.Hour, "")
	if !errors.Is(err, assigner.ErrLayoutMismatch) || !strings.Contains(err.Error(), "Restore needs the list") ||
		len(m.entries) != 0 {
		t.Errorf("Restore of nothing, without a layout = %v, %d entries, want ErrLayoutMismatch", err, len(m.entries))
	}
	if err := a.Restore(t.Context(), 7, time.Hour, layoutA); err != nil {
		t.Fatal(err)
	}
	if c := assign(t, a.BindLayout(layoutA)); c.Worker() != 8 {
		t.Errorf("worker id = %d, want 8", c.Worker())
	}
	layoutIs(t, m, layoutA)
	if _, err := a.Slots(t.Context()); err != nil {
		t.Errorf("Slots, for any layout: %v", err)
	}
}

// TestRestoreHeader: where the header is gone, Restore makes one of the longest list of layouts that a
// slot has. With a shorter one, a process that does not know the last layout would not be cut.
func TestRestoreHeader(t *testing.T) {
	t.Parallel()
	m := &memory{}
	a := newAssigner(t, m, nil)
	const both = layoutA + ",36-14-13-0/1s+9@2060-01-01T00:00:00Z"
	for i := range 10 {
		layout := layoutA
		if i == 4 {
			layout = both
		}
		assign(t, a.BindLayout(layout))
	}
	m.set(func() { delete(m.entries, lease.HeaderName) })
	if err := a.Restore(t.Context(), 9, time.Hour, ""); !errors.Is(err, assigner.ErrLayoutMismatch) ||
		!strings.Contains(err.Error(), "Restore needs the list") {
		t.Errorf("Restore without a layout = %v, want ErrLayoutMismatch", err)
	}
	if err := newAssigner(t, m, nil).Restore(t.Context(), 9, time.Hour, layoutA); err != nil {
		t.Fatal(err)
	}
	layoutIs(t, m, both)
	if err := a.Restore(t.Context(), 9, time.Hour, layoutOld); !errors.Is(err, assigner.ErrLayoutMismatch) {
		t.Errorf("Restore with another layout = %v, want ErrLayoutMismatch", err)
	}
}

// TestUniverseEmptied: a store that was emptied draws another name, so a claim from before has its old one,
// and is lost with its next extension.
func TestUniverseEmptied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		old := mustAssign(t, newAssigner(t, m, nil))
		m.set(func() { clear(m.entries) })
		c := mustAssign(t, newAssigner(t, m, nil))
		name := func(c assigner.Claim) string { return c.(assigner.Named).Universe() }
		if c.Worker() != old.Worker() || name(c) == name(old) {
			t.Errorf("the claims are on worker ids %d and %d of the universes %s and %s, want one worker id of two",
				old.Worker(), c.Worker(), name(old), name(c))
		}
		_, until := old.Window()
		if _, err := old.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of the old claim = %v, want ErrClaimLost", err)
		}
	})
}

// TestUniverseNamed: a header of a version that knew no universes gets a name with the next extension.
func TestUniverseNamed(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	c := assign(t, newAssigner(t, s, nil))
	old := c.(assigner.Named).Universe()
	s.edit(lease.HeaderName, `,"universe":"`+old+`"`, "")
	extend(t, c, time.Minute)
	name := c.(assigner.Named).Universe()
	if v := string(s.entries[lease.HeaderName].Value); name == "" || name == old ||
		!strings.Contains(v, `"universe":"`+name+`"`) {
		t.Errorf("the claim's universe is %q, was %q, and the header is %s", name, old, v)
	}
}

// TestMovedSlots: a store whose ids were moved away has no layouts.
func TestMovedSlots(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	a := newAssigner(t, s, nil)
	assign(t, a)
	headerIs(s.memory, "", "moved to elsewhere")
	if all, err := a.Slots(t.Context()); err != nil || len(all) != 1 || all[0].Newest != "" {
		t.Errorf("Slots = %+v, %v, want one of no layouts", all, err)
	}
}

// TestEarlyLayout: a layout that began at the beginning of Unix time, or before, has begun.
func TestEarlyLayout(t *testing.T) {
	t.Parallel()
	const early = "28-22-13-0/1s@1950-01-01T00:00:00Z"
	for _, begin := range []string{"1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"} {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		assign(t, a.BindLayout(early+",28-22-13-0/1s@"+begin))
		if c, err := a.BindLayout(early).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrSuperseded) {
			t.Errorf("Assign without the layout of %s = %v, %v, want ErrSuperseded", begin, c, err)
		}
	}
}

// TestOtherAnnounced: a claim of another layout than the one that is announced is refused, and changes
// nothing.
func TestOtherAnnounced(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	a := newAssigner(t, s, nil)
	assign(t, a)
	headerIs(s.memory, "", "|"+layoutA)
	before := s.entries[lease.HeaderName].Version
	for _, layout := range []string{layoutOld, ""} {
		_, err := a.BindLayout(layout).Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrLayoutMismatch) ||
			!strings.Contains(err.Error(), "use the same layout and epoch") {
			t.Errorf("Assign with layout %q = %v, want ErrLayoutMismatch", layout, err)
		}
	}
	if e := s.entries[lease.HeaderName]; e.Version != before {
		t.Errorf("the header is %s, want it as it was", e.Value)
	}
}

// TestGreatest: the greatest floor and reach of a header can be read.
func TestGreatest(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	put(s.memory, lease.HeaderName, `{"v":1,"used":[],"floor_ms":9007199254740992,"reach_ms":63244800000}`)
	if c, err := newAssigner(t, s, nil).Examine(t.Context()); err != nil || !c.Header || len(c.Faults) > 0 {
		t.Errorf("Examine = %+v, %v, want a header without a fault", c, err)
	}
}
