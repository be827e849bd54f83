package workernode_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

func TestLeased(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			conform(t, &workernode.LeasedOptions{Namespace: namespace})
		})
	}
}

func conform(t *testing.T, o *workernode.LeasedOptions) {
	assignertest.Run(t, assignertest.Factory{
		Authority: authority(func(db *gorm.DB) assigner.Assigner { return workernode.Leased(db, o) }),
		Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
			srv, name := maria(tb)
			clock := &stepClock{dsn: srv.DSN(name)}
			return func() assigner.Assigner { return workernode.Leased(clock.connect(tb), o) }, clock.step
		},
		Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
			srv, name := maria(tb)
			return func(first, last int64) assigner.Assigner {
				o := &workernode.LeasedOptions{Namespace: "regions", First: first, Last: last}
				return workernode.Leased(connect(tb, srv.DSN(name)), o)
			}
		},
	})
}

// TestLeasedFreeFirst: free worker ids are used before new ones, and windows follow one another.
func TestLeasedFreeFirst(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	claims := assign(t, a, 4)
	for i, c := range claims {
		if c.Worker() != int64(i+1) {
			t.Errorf("worker %d of an empty table = %d, want %d", i, c.Worker(), i+1)
		}
		if from, until := c.Window(); !from.IsZero() || time.Until(until) < 19*time.Minute {
			t.Errorf("first window of worker %d = [%v, %v), want it from the beginning of time "+
				"to a whole Window from now",
				c.Worker(), from, until)
		}
	}
	used := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, i := range []int{2, 0} {
		if err := claims[i].Release(t.Context(), used); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[int64]bool{}
	for i, want := range []int64{1, 3, 5} {
		c := assign(t, a, 1)[0]
		if free := c.Worker() == 1 || c.Worker() == 3; seen[c.Worker()] || free != (want != 5) {
			t.Errorf("claim %d: worker = %d, want 1 and 3 before 5", i, c.Worker())
		}
		seen[c.Worker()] = true
		if from, _ := c.Window(); want != 5 && !from.Equal(used) {
			t.Errorf("claim %d: window begins at %v, want %v, where the last owner ended", i, from, used)
		}
	}
}

// TestLeasedRested: the window of a worker id that nobody had for long begins where the last one
// ended.
func TestLeasedRested(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	c := assign(t, a, 1)[0]
	end := time.Now().Add(-1000 * time.Hour).Truncate(time.Millisecond)
	release(t, c, end)
	c = assign(t, a, 1)[0]
	from, until := c.Window()
	if c.Worker() != 1 || !from.Equal(end) || until.Before(time.Now().Add(19*time.Minute)) {
		t.Errorf("worker %d, window = [%v, %v), want worker 1 from %v to %v from here", c.Worker(), from, until,
			end, 20*time.Minute)
	}
}

// TestLeasedTakeover: a worker id whose owner is silent changes hands when its window has passed,
// and not a millisecond of it is owned twice. The old owner's return changes nothing.
func TestLeasedTakeover(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	options := &workernode.LeasedOptions{Window: time.Second}
	old := assign(t, workernode.Leased(connect(t, srv.DSN(name)), options), 1)[0]
	_, end := old.Window()
	a := workernode.Leased(connect(t, srv.DSN(name)), options)
	if c := assign(t, a, 1)[0]; c.Worker() == old.Worker() {
		t.Fatalf("worker %d was assigned again before its window ended", c.Worker())
	}
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	heirs := assign(t, a, 2)
	i := slices.IndexFunc(heirs, func(c assigner.Claim) bool { return c.Worker() == old.Worker() })
	if i < 0 {
		t.Fatalf("nobody has worker %d, which is free", old.Worker())
	}
	heir := heirs[i]
	if from, _ := heir.Window(); !from.Equal(end) {
		t.Errorf("the heir's window begins at %v, want %v, the old one's end", from, end)
	}
	_, err := old.Extend(t.Context(), end.Add(time.Hour))
	if !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend of a worker id that has a new owner = %v, want ErrClaimLost", err)
	}
	if _, until := old.Window(); !until.Equal(end) {
		t.Errorf("the old window ends at %v, want %v as before", until, end)
	}
	if err := old.Release(t.Context(), time.Time{}); err != nil {
		t.Errorf("Release of a lost claim: %v", err)
	}
	_, until := heir.Window()
	if _, err := heir.Extend(t.Context(), until.Add(time.Second)); err != nil {
		t.Errorf("the heir's Extend after the old owner's return: %v", err)
	}
}

// TestLeasedLateExtend: an owner whose window has passed goes on with it if nobody has taken it
// over.
func TestLeasedLateExtend(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Window: time.Second}), 1)[0]
	_, end := c.Window()
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	until, err := c.Extend(t.Context(), end.Add(time.Second))
	if err != nil || until.Before(end.Add(time.Second)) {
		t.Errorf("Extend after the window's end = %v, %v, want %v or later", until, err, end.Add(time.Second))
	}
	// Asked for a moment, it reserves a whole Window from now on.
	time.Sleep(20 * time.Millisecond)
	want := time.Now().Add(time.Second - 10*time.Millisecond)
	if until, err = c.Extend(t.Context(), until.Add(time.Millisecond)); err != nil || until.Before(want) {
		t.Errorf("Extend by a millisecond = %v, %v, want a whole Window, to %v", until, err, want)
	}
	if got := c.(assigner.Windowed).Span(); got != time.Second {
		t.Errorf("Span = %v, want the Window, 1s", got)
	}
}

// TestLeasedExhausted: without a free worker id the error says when there is one, and nothing is
// used up by asking.
func TestLeasedExhausted(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	claims := make([]assigner.Claim, 3)
	for i := range claims {
		var err error
		if claims[i], err = a.Assign(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		_, err := a.Assign(t.Context(), 3)
		if !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Fatalf("Assign = %v, want ErrWorkersExhausted", err)
		}
		wantError(t, err, "worker ids 0 to 3 are reserved", `namespace "default"`, "for another 19m")
	}
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != "3" {
		t.Errorf("rows of WORKER_NODE = %s, want 3", got)
	}
	release(t, claims[1], time.Time{})
	if c, err := a.Assign(t.Context(), 3); err != nil || c.Worker() != 2 {
		t.Errorf("Assign after a release = %v, %v, want worker 2", c, err)
	}
}

// TestLeasedOptions: wrong options are errors that name the field and the bound.
func TestLeasedOptions(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	const own = "own"
	long := strings.Repeat("x", 191)
	for _, tt := range []struct {
		o      workernode.LeasedOptions
		layout string
		max    int64 // 0: maxWorker
		want   string
	}{
		{o: workernode.LeasedOptions{Window: time.Millisecond}, want: "Window is 1ms, want 1s to 8784h0m0s"},
		{o: workernode.LeasedOptions{Window: 8784*time.Hour + 1}, want: "Window is 8784h0m0.000000001s"},
		{o: workernode.LeasedOptions{Window: -1}, want: "Window is -1ns"},
		{o: workernode.LeasedOptions{Window: 1 << 62}, want: "Window is"},
		{o: workernode.LeasedOptions{Namespace: strings.Repeat("x", 65)}, want: "want 1 to 64 characters"},
		{o: workernode.LeasedOptions{Namespace: " x"}, want: `Namespace is " x"`},
		{o: workernode.LeasedOptions{Namespace: "x\x00"}, want: "no control characters"},
		{o: workernode.LeasedOptions{Namespace: "\xff"}, want: "Namespace is"},
		{o: workernode.LeasedOptions{First: 1}, want: `First is 1 in namespace "default"`},
		{o: workernode.LeasedOptions{Namespace: own, First: -1}, want: "First is -1"},
		{o: workernode.LeasedOptions{Namespace: own, Last: -1}, want: "Last is -1, want 0, which is First"},
		{o: workernode.LeasedOptions{Namespace: own, First: 5, Last: 4}, want: "Last is 4, want 5, which is First"},
		{o: workernode.LeasedOptions{Namespace: own, First: 8}, max: 7, want: "First is 8 and Last 7"},
		{o: workernode.LeasedOptions{Namespace: own, Last: 8}, max: 7, want: "First is 0 and Last 8"},
		{max: -1, want: "First is 0 and Last -1, the layout's highest worker id is -1"},
		{layout: long + "x", want: "192 characters, want at most 191"},
	} {
		_, err := workernode.Leased(db, &tt.o).BindLayout(tt.layout).Assign(
			t.Context(), cmp.Or(tt.max, maxWorker))
		wantError(t, err, tt.want)
		if full := errors.Is(err, assigner.ErrWorkersExhausted); full != (tt.max != 0) {
			t.Errorf("error = %v, want ErrWorkersExhausted: %v", err, tt.max != 0)
		}
	}
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_LEASE"); got != "0" {
		t.Errorf("rows after refusals = %s, want 0", got)
	}
	// The last values that are in range.
	for i, tt := range []struct {
		o         workernode.LeasedOptions
		layout    string
		max, want int64
	}{
		{workernode.LeasedOptions{Window: time.Second}, long, 0, 0},
		{workernode.LeasedOptions{Window: 8784 * time.Hour, Last: 2}, "", 2, 0},
		{workernode.LeasedOptions{First: 7}, "", 7, 7},
		{workernode.LeasedOptions{First: 7, Last: 7}, "", 9, 7},
	} {
		tt.o.Namespace = strings.Repeat(string(rune('a'+i)), 64)
		a := workernode.Leased(db, &tt.o).BindLayout(tt.layout)
		if c, err := a.Assign(t.Context(), tt.max); err != nil || c.Worker() != tt.want {
			t.Errorf("Assign with %+v = %v, %v, want worker %d", tt.o, c, err, tt.want)
		}
	}
}

// TestLeasedBounds: ends that no column holds are errors, and a release neither reserves more nor
// gives back what was others'.
func TestLeasedBounds(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	for _, until := range []time.Time{{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<60, 0)} {
		_, err := c.Extend(t.Context(), until)
		wantError(t, err, "want an instant before the year 10000")
	}
	_, end := c.Window()
	// Its milliseconds wrap around.
	if until, err := c.Extend(t.Context(), time.Unix(-1<<60-1, 0)); err != nil ||
		!until.Equal(end) {
		t.Errorf("Extend to an instant long past = %v, %v, want %v as before", until, err, end)
	}
	want := end.Add(23 * time.Hour)
	if until, err := c.Extend(t.Context(), want); err != nil || !until.Equal(want) {
		t.Errorf("Extend(%v) = %v, %v", want, until, err)
	}
	// What the window holds needs no database.
	pool(t, db).Close()
	if until, err := c.Extend(t.Context(), end); err != nil || !until.Equal(want) {
		t.Errorf("Extend to an instant inside the window = %v, %v, want %v as before", until, err, want)
	}
	// A release never reserves more than there is.
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	for _, beyond := range []time.Duration{time.Millisecond, time.Hour, 290 * 365 * 24 * time.Hour, 0} {
		c := assign(t, a, 1)[0]
		_, until := c.Window()
		used := until.Add(beyond)
		if beyond == 0 {
			used = time.Unix(1<<60, 0) // its milliseconds wrap around
		}
		release(t, c, used)
		row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = %d", c.Worker()))
		if row != fmt.Sprint(until.UnixMilli()) {
			t.Errorf("UNTIL_MS = %s after a release beyond the window's end, want %d, the end", row, until.UnixMilli())
		}
	}
	// And it never goes back beyond the window's begin, before which others stamped.
	fence := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for _, used := range []time.Time{fence, fence.Add(-time.Minute), {}, time.Unix(-1<<40, 0)} {
		c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Namespace: "back"}), 1)[0]
		release(t, c, used)
		row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = %d", c.Worker()))
		if row != fmt.Sprint(fence.UnixMilli()) {
			t.Errorf("UNTIL_MS = %s after a release with %v, want %d, where the last owner ended",
				row, used, fence.UnixMilli())
		}
	}
}

// TestReleaseEnd: the end that a Release leaves in the row is the first millisecond at or after what
// was used, wherever that is on the time line.
func TestReleaseEnd(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	last := time.Now().Add(23 * time.Hour).Truncate(time.Millisecond)
	for _, tt := range []struct {
		used time.Time
		want int64
	}{
		{time.Unix(0, -1), 0},
		{time.Unix(0, 0), 0},
		{time.Unix(0, 1), 1},
		{time.UnixMilli(1), 1},
		{time.UnixMilli(1).Add(1), 2},
		{last.Add(-time.Hour), last.Add(-time.Hour).UnixMilli()},
	} {
		c := assign(t, a, 1)[0]
		if _, err := c.Extend(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		release(t, c, tt.used)
		row := srv.Query(t, name, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = 1")
		if row != fmt.Sprint(tt.want) {
			t.Errorf("UNTIL_MS = %s after a release with %v, want %d", row, tt.used, tt.want)
		}
	}
}

func ExampleLeased() {
	ctx := context.Background()
	db, err := workernode.OpenMySQL("user:password@tcp(127.0.0.1:3306)/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	start := func() (assigner.Claim, error) {
		if err := workernode.Migrate(ctx, db); err != nil {
			return nil, err
		}
		return workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}).Assign(ctx, 1<<22-1)
	}
	_ = start
}
