package lease_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// clocked is a keyed that tells the time.
type clocked struct{ *keyed }

func (s clocked) Now(ctx context.Context) (time.Time, error) { return timed{s.ambush}.Now(ctx) }

// TestMoveCalls: a call that is refused ends the move with this error, whichever call of whichever store,
// and nothing comes after it.
func TestMoveCalls(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(tb testing.TB, from, to clocked){
		"the first run": func(testing.TB, clocked, clocked) {},
		"a source that went back": func(tb testing.TB, from, to clocked) {
			restore := from.backup()
			mustMove(tb, from, to)
			restore()
		},
		"a target that went back": func(tb testing.TB, from, to clocked) {
			var restore func()
			to.once(3, "put", lease.HeaderName, func(run func() error) error {
				restore = to.backup()
				return run()
			})
			mustMove(tb, from, to)
			restore()
		},
		"a target that was restored": func(tb testing.TB, from, to clocked) {
			mustMove(tb, from, to)
			to.set(func() { to.entries = nil })
			if err := bound(tb, to, moveOne, nil).Restore(tb.Context(), 0, time.Hour, moveOne); err != nil {
				tb.Fatal(err)
			}
		},
		"a target that needs Restore": func(tb testing.TB, from, to clocked) {
			mustMove(tb, from, to)
			to.set(func() { to.entries = nil })
			mustAssign(tb, bound(tb, to, moveOne, nil))
		},
		"done": func(tb testing.TB, from, to clocked) { mustMove(tb, from, to) },
	} {
		synctest.Test(t, func(t *testing.T) {
			for n := 1; ; n++ {
				from := clocked{&keyed{ambush: newAmbush(), highest: -1, name: "old"}}
				to := clocked{&keyed{ambush: newAmbush(), highest: -1, name: "new"}}
				mustAssign(t, bound(t, from, moveOne, nil))
				prepare(t, from, to)
				calls := 0
				around := func(_, _ string, run func() error) error {
					if calls++; calls == n {
						return lease.ErrRefused
					}
					return run()
				}
				from.around, to.around = around, around
				_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
				if calls < n {
					t.Logf("%s: %d calls, %v", name, calls, err)
					break
				}
				if !errors.Is(err, lease.ErrRefused) || calls != n {
					t.Errorf("%s, call %d refused: %v after %d calls", name, n, err, calls)
				}
			}
		})
	}
}
