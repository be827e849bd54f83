package assigner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// never is what a claim is released with when nothing was stamped.
var never time.Time

// TestHeld: of two open claims on one worker id and layout in a process, the second is an error,
// and closing the first makes it possible, whatever kind of Assigner each is of.
func TestHeld(t *testing.T) {
	t.Setenv("UIDRING_TEST_HELD", "4001")
	fast := &assigner.LocalOptions{RepeatsAfterRestart: true}
	kinds := map[string]assigner.Assigner{
		"static":       assigner.Static(4001),
		"env":          assigner.Env("UIDRING_TEST_HELD", fast),
		"stateful set": assigner.PodNamed("web-4001", fast),
	}
	for one, first := range kinds {
		for two, second := range kinds {
			c, err := first.Assign(t.Context(), 1<<22-1)
			if err != nil {
				t.Fatalf("%s: %v", one, err)
			}
			_, err = second.Assign(t.Context(), 1<<22-1)
			if !errors.Is(err, assigner.ErrWorkersExhausted) ||
				!strings.Contains(err.Error(), "4001 is in use") {
				t.Errorf("%s, then %s: error %v, want ErrWorkersExhausted and the worker id", one,
					two, err)
			}
			bound := bound(second)
			other, err := bound.Assign(t.Context(), 1023<<12)
			if err != nil {
				t.Errorf("%s, then %s with another layout: %v", one, two, err)
			} else if err := other.Release(t.Context(), never); err != nil {
				t.Error(err)
			}
			for range 2 { // the second one does nothing: it does not free what another claim holds
				if err := c.Release(t.Context(), never); err != nil {
					t.Error(err)
				}
			}
			again, err := second.Assign(t.Context(), 1<<22-1)
			if err != nil {
				t.Fatalf("%s, released, then %s: %v", one, two, err)
			}
			if err := c.Release(t.Context(), never); err != nil {
				t.Error(err)
			}
			_, err = first.Assign(t.Context(), 1<<22-1)
			if !errors.Is(err, assigner.ErrWorkersExhausted) {
				t.Errorf("%s released twice freed what %s holds: %v", one, two, err)
			}
			if err := again.Release(t.Context(), never); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHeldInEras: generators that differ in a later layout alone make the same ids before it.
func TestHeldInEras(t *testing.T) {
	t.Parallel()
	one := assigner.Static(4003).(assigner.LayoutBinder).BindLayout("28-22-13")
	two := assigner.Static(4003).(assigner.LayoutBinder).BindLayout("28-22-13,30-20-13")
	c, err := one.Assign(t.Context(), 4003)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release(t.Context(), never)
	if _, err := two.Assign(t.Context(), 4003); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("a claim with one more layout: %v, want ErrWorkersExhausted", err)
	}
}

// TestHeldByGenerator: a second generator with the worker id fails, and says that the first one has
// to be closed.
func TestHeldByGenerator(t *testing.T) {
	t.Parallel()
	first, err := uid.NewCached(t.Context(), assigner.Static(4002), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = uid.NewDefault(t.Context(), assigner.Static(4002), nil)
	if !errors.Is(err, assigner.ErrWorkersExhausted) ||
		!strings.Contains(err.Error(), "close that one") {
		t.Errorf("NewDefault next to NewCached: %v, want ErrWorkersExhausted and advice", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := uid.NewDefault(t.Context(), assigner.Static(4002), nil)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	second.Close()
}
