package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// staleBy is how old the entries are that stale shows.
const staleBy = 5 * time.Minute

// stale is no Store: its Get shows the entries of a while ago, as a replica does.
type stale struct{ lagging }

func newStale(s indexed) stale {
	s.lag = staleBy
	return stale{lagging{s}}
}

func (s stale) Get(ctx context.Context, name string) (e lease.Entry, err error) {
	s.indexed.set(func() {
		_, err = s.indexed.call(ctx, "get", name)
		e = s.indexed.shown()[name]
	})
	return e, err
}

// TestStaleGet shows why Get must be linearizable. An owner that does not know a layout reads the
// header after its end was answered, and stops where the layout begins. If that read is old, its
// window reaches beyond, next to that of an owner which stamps with the layout: the two divide the
// bits in different ways, and their ids may be equal. The compare-and-set, which is never old, does
// not help: it is of the slot.
func TestStaleGet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		store func(indexed) lease.Store
		wrong bool
	}{
		{"linearizable", func(s indexed) lease.Store { return lagging{s} }, false},
		{"stale", func(s indexed) lease.Store { return newStale(s) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newIndexed(0, false)
				sound := lagging{s}
				assign(t, newAssigner(t, sound, nil).BindLayout(layoutOld)) // makes the header
				time.Sleep(2 * staleBy)
				wakes := assign(t, newAssigner(t, tt.store(s), nil).BindLayout(layoutOld))
				begin := until(wakes).Add(time.Hour).Truncate(time.Second)
				both := layoutOld + "," + beginning(begin)
				time.Sleep(2 * staleBy)
				knows := assign(t, newAssigner(t, sound, nil).BindLayout(both))
				if _, err := knows.Extend(t.Context(), begin.Add(2*time.Hour)); err != nil {
					t.Fatal(err)
				}
				if _, err := wakes.Extend(t.Context(), begin.Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				if !until(knows).After(begin) {
					t.Fatalf("the window of the layout's owner ends at %v, want later than %v", until(knows), begin)
				}
				if got := until(wakes).After(begin); got != tt.wrong {
					t.Errorf("the other window ends at %v: beyond the start of the layout, %v, is %v, want %v",
						until(wakes), begin, got, tt.wrong)
				}
			})
		})
	}
}
