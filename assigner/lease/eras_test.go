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

// TestRestoreBeforeEra: a store goes back to before a layout was added. After Restore a process that
// does not know the layout claims first, and gets no window beyond its start.
func TestRestoreBeforeEra(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		a := newAssigner(t, m, nil)
		assign(t, a.BindLayout(layoutOld))
		restore := m.backup()
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		knows := assign(t, a.BindLayout(both))
		restore()
		if err := newAssigner(t, m, nil).Restore(t.Context(), 9, time.Hour, both); err != nil {
			t.Fatal(err)
		}
		layoutIs(t, m, both)
		time.Sleep(90 * time.Minute)
		c := assign(t, newAssigner(t, m, nil).BindLayout(layoutOld))
		if _, err := c.Extend(t.Context(), begin.Add(time.Hour)); err != nil {
			t.Error(err)
		}
		if until(c).After(begin) {
			t.Errorf("the window of a process that does not know the layout ends at %v, want %v", until(c), begin)
		}
		if _, err := knows.Extend(t.Context(), begin.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of the forgotten claim = %v, want ErrClaimLost", err)
		}
		c = assign(t, newAssigner(t, m, nil).BindLayout(both))
		extend(t, c, 5*time.Hour)
		if !until(c).After(begin) {
			t.Errorf("the window of a process that knows the layout ends at %v, want later than %v", until(c), begin)
		}
	})
}

// TestLayoutForgotten: a claim that knows a layout which the store has not, or only announced, gets no
// window beyond its start: others may not know it.
func TestLayoutForgotten(t *testing.T) {
	t.Parallel()
	for _, announced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{}
			begin := time.Now().Add(2 * time.Hour)
			next := beginning(begin)
			both, has := layoutOld+","+next, layoutOld
			if announced {
				has += "|" + next
			}
			c := assign(t, newAssigner(t, m, nil).BindLayout(both))
			headerIs(m, both, has)
			if _, err := c.Extend(t.Context(), begin.Add(time.Hour)); err != nil || !until(c).Equal(begin) {
				t.Errorf("Extend = %v until %v, want until %v", err, until(c), begin)
			}
			_, err := c.Extend(t.Context(), begin.Add(time.Hour))
			if !errors.Is(err, assigner.ErrLayoutMismatch) || errors.Is(err, assigner.ErrClaimLost) ||
				!strings.Contains(err.Error(), "taken back or forgotten: it stops at "+begin.String()) {
				t.Errorf("Extend = %v, want ErrLayoutMismatch", err)
			}
			headerIs(m, has, both)
			extend(t, c, time.Hour)
		})
	}
}

// TestTakeBack: a layout that has not begun is taken back. Processes that do not know it run through
// its start from then on, and one that does stops there.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil)
		begin := time.Now().Add(2 * time.Hour)
		both := layoutOld + "," + beginning(begin)
		old := assign(t, a.BindLayout(layoutOld))
		knows := assign(t, a.BindLayout(both))
		for layout, want := range map[string]string{
			"": `this one has ""`,
			both + "," + beginning(begin.Add(time.Hour)): "want the beginning of this list",
			layoutA: "other claims have the layout",
		} {
			if err := a.TakeBack(t.Context(), layout); !errors.Is(err, assigner.ErrLayoutMismatch) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("TakeBack to %q = %v, want %q", layout, err, want)
			}
		}
		layoutIs(t, s.memory, both)
		for range 2 {
			s.once(1, "put", lease.HeaderName, done)
			if err := a.TakeBack(t.Context(), layoutOld); err != nil {
				t.Fatal(err)
			}
			layoutIs(t, s.memory, layoutOld)
		}
		far := begin.Add(time.Hour)
		if end, err := old.Extend(t.Context(), far); err != nil || !end.Equal(far) {
			t.Errorf("Extend without the layout = %v, %v, want %v", end, err, far)
		}
		if end, err := knows.Extend(t.Context(), far); err != nil || !end.Equal(begin) {
			t.Errorf("Extend with the layout = %v, %v, want its start, %v", end, err, begin)
		}
	})
}

// TestTakeBackRefused: a layout that has begun, or in which a window may have ids, is not taken back,
// also if that window grows while the slots are listed.
func TestTakeBackRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, want string }{
		{"begun", "began at"},
		{"reached", "the window of worker 0 reaches"},
		{"reached meanwhile", "the window of worker 0 reaches"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newAmbush()
				a := newAssigner(t, s, nil)
				begin := time.Now().Add(2 * time.Hour)
				both := layoutOld + "," + beginning(begin)
				knows := assign(t, a.BindLayout(both))
				switch tt.name {
				case "begun":
					time.Sleep(2 * time.Hour)
				case "reached":
					extend(t, knows, 2*time.Hour)
				default:
					s.once(1, "put", lease.HeaderName, func(run func() error) error {
						extend(t, knows, 2*time.Hour)
						return run()
					})
				}
				if err := a.TakeBack(t.Context(), layoutOld); !errors.Is(err, assigner.ErrLayoutMismatch) ||
					!strings.Contains(err.Error(), tt.want) {
					t.Errorf("TakeBack = %v, want %q", err, tt.want)
				}
				layoutIs(t, s.memory, both)
				// Nothing goes beyond its start without the layout, and what knows it goes on.
				c, err := a.BindLayout(layoutOld).Assign(t.Context(), maxWorker)
				if err == nil && until(c).After(begin) || err != nil && !errors.Is(err, assigner.ErrSuperseded) {
					t.Errorf("Assign without the layout = %v, %v", c, err)
				}
				extend(t, assign(t, a.BindLayout(both)), 3*time.Hour)
				layoutIs(t, s.memory, both)
			})
		})
	}
}
