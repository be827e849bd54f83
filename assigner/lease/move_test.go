package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// moveOne is a list of layouts, and moveTwo one that goes on after it.
const (
	moveOne = "28-22-13-0/1s@2000-01-01T00:00:00Z"
	moveTwo = moveOne + ",28-22-13-0/1s@2000-06-01T00:00:00Z"
)

// named is a memory with a name of its own.
type named struct {
	*memory
	name string
}

func (n named) String() string { return n.name }

// bound returns an Assigner for claims of a layout.
func bound(tb testing.TB, s lease.Store, layout string, o *lease.Options) *lease.Assigner {
	tb.Helper()
	return newAssigner(tb, s, o).BindLayout(layout).(*lease.Assigner)
}

// mustAssign claims a worker id.
func mustAssign(tb testing.TB, a assigner.Assigner) assigner.Claim {
	tb.Helper()
	c, err := a.Assign(tb.Context(), 1<<22-1)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestMove: a source that is moved grants nothing any more, to no version, and the target grants
// windows that begin after all of the source.
func TestMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &memory{}, &memory{}
		source, target := named{from, "old"}, named{to, "new"}
		a, b := bound(t, source, moveOne, nil), bound(t, target, moveOne, nil)
		gone := mustAssign(t, a)
		if err := gone.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		held := mustAssign(t, a) // worker id 0 again
		passed := mustAssign(t, a)
		if err := passed.Release(t.Context(), time.Now().Add(-2*time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, end := held.Window()

		var lines []string
		o := &lease.MoveOptions{MaxWorker: 7, Report: func(line string) { lines = append(lines, line) }}
		o.DryRun = true
		calls := to.calls
		if _, err := lease.Move(t.Context(), a, b, o); err != nil || len(to.entries) != 0 || calls == to.calls {
			t.Fatalf("the dry run = %v and leaves %v, want nothing", err, to.entries)
		}
		t.Logf("%s", strings.Join(lines, "\n"))
		lines, o.DryRun = nil, false
		moved, err := lease.Move(t.Context(), a, b, o)
		if err != nil || moved.Copied != 1 || moved.Used != 1 || moved.Left != 8 {
			t.Fatalf("Move = %+v, %v, want one slot copied and 8 worker ids left", moved, err)
		}
		t.Logf("%s", strings.Join(lines, "\n"))

		if _, err := held.Extend(t.Context(), end.Add(time.Minute)); !errors.Is(err, assigner.ErrMoved) ||
			errors.Is(err, assigner.ErrClaimLost) || !strings.Contains(err.Error(), "moved to new") {
			t.Errorf("Extend after the move = %v, want ErrMoved, and where to", err)
		}
		if _, got := held.Window(); !got.Equal(end) {
			t.Errorf("the window ends at %v, want %v as before", got, end)
		}
		if _, err := bound(t, source, moveOne, nil).Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Assign after the move = %v, want ErrMoved", err)
		}
		// A version that knows no moves compares the text of the header with its list.
		have := recordOf(t, from, lease.HeaderName).Layout
		for _, list := range []string{"", moveOne, moveTwo} {
			if _, _, err := assigner.CompareLayouts(have, list); !errors.Is(err, assigner.ErrLayoutMismatch) {
				t.Errorf("CompareLayouts(%q, %q) = %v, want ErrLayoutMismatch", have, list, err)
			}
		}
		if err := a.TakeBack(t.Context(), moveOne); !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("TakeBack after the move = %v, want ErrMoved", err)
		}
		if err := a.Restore(t.Context(), 7, time.Hour, moveOne); !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Restore after the move = %v, want ErrMoved", err)
		}
		if c, err := a.Examine(t.Context()); err != nil || len(c.Faults) != 1 ||
			!errors.Is(c.Faults[0], assigner.ErrMoved) {
			t.Errorf("Examine after the move = %+v, %v, want ErrMoved as a fault", c, err)
		}

		began := map[int64]time.Time{}
		for range 3 {
			c := mustAssign(t, b)
			began[c.Worker()], _ = c.Window()
		}
		if _, ok := began[0]; ok {
			t.Error("worker id 0 is claimed, whose old window runs")
		}
		for worker, from := range began {
			if from.Before(time.Now().Add(-2 * time.Minute)) {
				t.Errorf("worker %d begins at %v, want no earlier than the last end below the floor", worker, from)
			}
		}
		lines = nil
		_, err = lease.Move(t.Context(), a, b, o)
		if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "nothing to do") {
			t.Errorf("Move once more = %v, %q, want nothing to do", err, lines)
		}
		time.Sleep(time.Until(end))
		for range 8 {
			c, err := b.Assign(t.Context(), 7)
			if err != nil {
				break
			}
			if from, _ := c.Window(); c.Worker() == 0 && from.Before(end) {
				t.Errorf("worker 0 begins at %v, want %v or later", from, end)
			}
		}
	})
}

// TestMoveWaits: a process of the target that is started before the move claims once it is open.
func TestMoveWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, target := named{&memory{}, "old"}, &ambush{memory: &memory{}}
		a, b := bound(t, source, moveOne, nil), bound(t, target, moveOne, nil)
		mustAssign(t, a)
		got := make(chan error, 1)
		// The move stops between the seal and the copy.
		met := target.once(2, "put", lease.HeaderName, func(run func() error) error {
			go func() {
				_, err := bound(t, target.memory, moveOne, nil).Assign(t.Context(), 7)
				got <- err
			}()
			time.Sleep(3 * time.Second)
			select {
			case err := <-got:
				t.Errorf("Assign on a closed target = %v, want it to wait", err)
			default:
			}
			return run()
		})
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil || !*met {
			t.Fatal(err, *met)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		target.edit(lease.HeaderName, `"layout":"`, `"layout":"moving:`)
		_, err := bound(t, target, moveOne, nil).Assign(ctx, 7)
		if !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), "the move into it is not finished") {
			t.Errorf("Assign on a closed target = %v, want the end of its ctx, and why", err)
		}
	})
}

// TestMoveRefused: what must not be moved is refused, and nothing has changed then.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	claimed := func(tb testing.TB, s named) { mustAssign(tb, bound(tb, s, moveOne, nil)) }
	moved := func(tb testing.TB, from, to named) {
		_, err := lease.Move(tb.Context(), bound(tb, from, moveOne, nil), bound(tb, to, moveOne, nil), nil)
		if err != nil {
			tb.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name    string
		prepare func(tb testing.TB, from, to named)
		want    string
	}{
		{"nothing there", func(testing.TB, named, named) {}, "old has no entry"},
		{"announced", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			from.edit(lease.HeaderName, moveOne, moveOne+"|"+moveTwo[len(moveOne)+1:])
		}, "not settled"},
		{"taken back", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			from.edit(lease.HeaderName, moveOne, moveOne+"~"+moveTwo[len(moveOne)+1:])
		}, "not settled"},
		{"unreadable", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			from.edit("slot-0", `"gen":`, `"gen":-`)
		}, "slot-0 has gen -1"},
		{"no header", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			remove(from.memory, lease.HeaderName)
		}, "run Restore there"},
		{"moved elsewhere", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			moved(tb, from, named{&memory{}, "third"})
		}, "it was moved to third"},
		{"the target is in use", func(tb testing.TB, from, to named) {
			claimed(tb, from)
			claimed(tb, to)
		}, "new holds another universe"},
		{"the target has slots", func(tb testing.TB, from, to named) {
			claimed(tb, from)
			claimed(tb, to)
			remove(to.memory, lease.HeaderName)
		}, "new has slots and no header"},
		{"the target was moved", func(tb testing.TB, from, to named) {
			claimed(tb, from)
			claimed(tb, to)
			moved(tb, to, named{&memory{}, "third"})
		}, "new was moved itself, to third"},
		{"another move into the target", func(tb testing.TB, from, to named) {
			claimed(tb, from)
			other := named{&memory{}, "third"}
			claimed(tb, other)
			moved(tb, other, to)
		}, `new is the target of a move from "third #`},
		{"another place with the same end", func(tb testing.TB, from, to named) {
			claimed(tb, from)
			other := named{&memory{}, strings.Repeat("of another host ", 8) + from.name}
			claimed(tb, other)
			moved(tb, other, to)
		}, "of another host old #"},
		{"few worker ids", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			from.edit(lease.HeaderName, `"used":[]`, `"used":[[0,7]]`)
		}, "worker ids left in the target: 2 of 8, want 3 at least"},
		{"the target is lost", func(tb testing.TB, from, to named) {
			claimed(tb, from)
			moved(tb, from, to)
			remove(to.memory, lease.HeaderName, "slot-0")
		}, "it went back; run Restore there"},
		{"a closed source", func(tb testing.TB, from, _ named) {
			claimed(tb, from)
			from.edit(lease.HeaderName, `"layout":"`, `"layout":"moving:`)
		}, "the move into old is not finished"},
	} {
		for _, dry := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dry run %v", tt.name, dry), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
					tt.prepare(t, from, to)
					was := from.version + to.version
					_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil),
						&lease.MoveOptions{MaxWorker: 7, DryRun: dry})
					if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), tt.want) {
						t.Errorf("Move = %v, want it refused: %q", err, tt.want)
					}
					if n := from.version + to.version - was; n != 0 {
						t.Errorf("%d entries were changed, want none", n)
					}
				})
			})
		}
	}
}

// TestMoveGoneBack: a process that has seen the seal grants nothing when the source is restored to before
// the move, and the same Move seals it again.
func TestMoveGoneBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		c := mustAssign(t, a)
		_, end := c.Window()
		restore := from.backup()
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrMoved) {
			t.Fatal(err)
		}
		restore()
		if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend after the restore = %v, want ErrWentBack", err)
		}
		if _, err := a.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Assign after the restore = %v, want ErrWentBack", err)
		}
		time.Sleep(time.Until(end))
		over := mustAssign(t, b) // which may be worker id 0, behind the old window
		slots := to.version
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := bound(t, from, moveOne, nil).Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Assign on the source that is sealed again = %v, want ErrMoved", err)
		}
		if n := to.version - slots; n > 2 {
			t.Errorf("%d entries of the target were changed, want the header's alone", n)
		}
		if _, err := over.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Errorf("Extend in the target = %v, want it to go on", err)
		}
	})
}

// TestMoveTargetGoneBack: a target that is closed again after it was opened may have forgotten claims, so
// none begins before they have ended.
func TestMoveTargetGoneBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, &ambush{memory: &memory{}}
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		mustAssign(t, a)
		var restore func()
		to.once(3, "put", lease.HeaderName, func(run func() error) error {
			restore = to.backup()
			return run()
		})
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		c := mustAssign(t, b)
		_, end := c.Window()
		restore()
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			c, err := bound(t, to, moveOne, nil).Assign(t.Context(), 7)
			if err != nil {
				break
			}
			if from, _ := c.Window(); from.Before(end) {
				t.Errorf("worker %d begins at %v, want %v or later: the target has forgotten a claim",
					c.Worker(), from, end)
			}
		}
	})
}

// TestMoveRanges: the list of used worker ids that a move leaves stays short.
func TestMoveRanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		const workers = 2000
		for i := range workers {
			until := 1
			if i%2 == 0 || i == 1001 {
				until = int(time.Now().Add(time.Hour).UnixMilli())
			}
			put(from.memory, fmt.Sprintf("slot-%d", i),
				fmt.Sprintf(`{"v":1,"gen":1,"token":"1","owner":"","until_ms":%d}`, until))
		}
		put(from.memory, lease.HeaderName, fmt.Sprintf(`{"v":1,"token":"1","layout":%q,"used":[[0,%d]]}`, moveOne, workers))
		moved, err := lease.Move(t.Context(), a, b, &lease.MoveOptions{MaxWorker: 1<<22 - 1})
		if err != nil {
			t.Fatal(err)
		}
		n := len(recordOf(t, to.memory, lease.HeaderName).Used)
		if n != 512 || moved.Copied != workers/2+1 || moved.Left+moved.Used != 1<<22+int64(moved.Copied) {
			t.Errorf("%d ranges and %+v, want 512 and %d copied", n, moved, workers/2+1)
		}
	})
}

// lateList is a memory whose List lags: the n-th one shows what was there before.
type lateList struct {
	named
	n     int
	shown []lease.Entry
}

func (s *lateList) List(ctx context.Context) ([]lease.Entry, error) {
	if s.n--; s.n == 0 {
		return s.shown, nil
	}
	return s.named.List(ctx)
}

// TestMoveOldList: a list that is older than the seal is not what is copied from.
func TestMoveOldList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &lateList{named: named{&memory{}, "old"}}, named{&memory{}, "new"}
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		mustAssign(t, a)
		from.shown, _ = from.named.List(t.Context())
		mustAssign(t, a)
		from.n = 2 // the first is the examination's
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
			t.Fatal(err)
		}
		if from.n >= 0 || !to.has("slot-1") {
			t.Errorf("%d lists are left, and the target has slot-1: %v, want another list", from.n, to.has("slot-1"))
		}
	})
}
