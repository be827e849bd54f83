package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

func TestLeased(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, assignertest.Factory{Authority: authority(func(db *gorm.DB) assigner.Assigner {
		return workernode.Leased(db, nil)
	})})
}

// TestLeasedLowestFirst: free worker ids are used before new ones, lowest first, and windows follow one another.
func TestLeasedLowestFirst(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	claims := assign(t, a, 4)
	for i, c := range claims {
		if c.Worker() != int64(i+1) {
			t.Errorf("worker %d of an empty table = %d, want %d", i, c.Worker(), i+1)
		}
		if from, until := c.Window(); !from.IsZero() || time.Until(until) < workernode.DefaultWindow-time.Minute {
			t.Errorf("first window of worker %d = [%v, %v), want it from the beginning of time to a whole Window from the present",
				c.Worker(), from, until)
		}
	}
	used := time.Now().Add(-time.Minute).Truncate(time.Second)
	for _, i := range []int{2, 0} {
		if err := claims[i].Release(t.Context(), used); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int64{1, 3, 5} {
		c := assign(t, a, 1)[0]
		if c.Worker() != want {
			t.Errorf("claim %d: worker = %d, want %d", i, c.Worker(), want)
		}
		if from, _ := c.Window(); want != 5 && !from.Equal(used) {
			t.Errorf("claim %d: window begins at %v, want %v, where the last owner ended", i, from, used)
		}
	}
}

// TestLeasedRested: the window of a worker id that nobody had for long reaches back one Window and not further.
func TestLeasedRested(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	c := assign(t, a, 1)[0]
	release(t, c, time.Now().Add(-1000*time.Hour))
	c = assign(t, a, 1)[0]
	if from, until := c.Window(); c.Worker() != 1 || until.Sub(from) != 2*workernode.DefaultWindow {
		t.Errorf("worker %d, window = [%v, %v), want worker 1 and twice %v", c.Worker(), from, until, workernode.DefaultWindow)
	}
}

// TestLeasedTakeover: a worker id whose owner is silent changes hands when its window has passed, and not a millisecond of it
// is owned twice. The old owner's return changes nothing.
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
	heir := assign(t, a, 1)[0]
	if heir.Worker() != old.Worker() {
		t.Fatalf("worker = %d, want %d, which is free", heir.Worker(), old.Worker())
	}
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

// TestLeasedLateExtend: an owner whose window has passed goes on with it if nobody has taken it over.
func TestLeasedLateExtend(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Window: time.Second}), 1)[0]
	_, end := c.Window()
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	if until, err := c.Extend(t.Context(), end.Add(time.Second)); err != nil || until.Before(end.Add(time.Second)) {
		t.Errorf("Extend after the window's end = %v, %v, want %v or later", until, err, end.Add(time.Second))
	}
}

// TestLeasedUnknownOutcome: an answer that is lost is found out by reading back. Each statement is broken off in each way; the
// worker id is neither lost nor owned twice, and no new one is used up.
func TestLeasedUnknownOutcome(t *testing.T) {
	t.Parallel()
	faults := map[string]dbtest.Fault{"before request": dbtest.CutBeforeRequest, "after request": dbtest.CutAfterRequest, "before reply": dbtest.CutBeforeReply}
	for name, fault := range faults {
		for _, op := range []string{"header", "first claim", "later claim", "extend", "release"} {
			t.Run(op+"/"+name, func(t *testing.T) {
				t.Parallel()
				srv, name := maria(t)
				proxy := dbtest.NewProxy(t, srv.Addr())
				// With interpolation a statement is one request, so that the fault hits the statement and not its preparation.
				a := workernode.Leased(connect(t, srv.DSNVia(proxy.Addr(), name)+"&interpolateParams=true"), nil)
				direct := workernode.Leased(connect(t, srv.DSN(name)), nil)
				ctx := within(t, 30*time.Second)
				hit := func(text string) { proxy.SetOnce(fault, statement(text)) }
				var c assigner.Claim
				var err error
				switch op {
				case "header":
					hit("INSERT INTO WORKER_LEASE")
					c, err = a.Assign(ctx, maxWorker)
				case "first claim":
					release(t, assign(t, direct, 2)[1], time.Time{})
					hold := assign(t, direct, 1)[0]
					hit("INSERT INTO WORKER_LEASE")
					if c, err = a.Assign(ctx, maxWorker); err == nil && c.Worker() != 3 {
						t.Errorf("worker = %d, want 3", c.Worker())
					}
					release(t, hold, time.Time{})
				case "later claim":
					used := time.Now().Add(-time.Second).Truncate(time.Second)
					release(t, assign(t, direct, 1)[0], used)
					hit("UPDATE WORKER_LEASE")
					c, err = a.Assign(ctx, maxWorker)
					if err == nil {
						// A request that was cut off behind may be carried out after the row was read back: the worker id then rests.
						if c.Worker() != 1 && fault != dbtest.CutAfterRequest {
							t.Errorf("worker = %d, want 1, the free one", c.Worker())
						}
						if from, _ := c.Window(); c.Worker() == 1 && !from.Equal(used) {
							t.Errorf("window begins at %v, want %v", from, used)
						}
					}
				case "extend":
					c = assign(t, a, 1)[0]
					_, before := c.Window()
					hit("UPDATE WORKER_LEASE")
					var until time.Time
					if until, err = c.Extend(ctx, before.Add(time.Hour)); err == nil && until.Before(before.Add(time.Hour)) {
						t.Errorf("Extend = %v, want %v or later", until, before.Add(time.Hour))
					}
				case "release":
					c = assign(t, a, 1)[0]
					hit("UPDATE WORKER_LEASE")
					err = c.Release(ctx, time.Time{})
				}
				if err != nil {
					t.Fatal(err)
				}
				if proxy.Hits() != 1 {
					t.Fatalf("the fault was done %d times, want 1", proxy.Hits())
				}
				if op == "release" {
					if next := assign(t, direct, 1)[0]; next.Worker() != c.Worker() {
						t.Errorf("worker after the release = %d, want %d again", next.Worker(), c.Worker())
					}
					return
				}
				// What the claim says and what the row says are the same.
				_, until := c.Window()
				row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = %d", c.Worker()))
				if want := fmt.Sprint(until.UnixMilli()); row != want {
					t.Errorf("UNTIL_MS = %s, want %s, the window's end", row, want)
				}
				if _, err := c.Extend(ctx, until.Add(time.Hour)); err != nil {
					t.Errorf("Extend after the fault: %v", err)
				}
			})
		}
	}
}

// TestLeasedGhost: a change that was given up for lost and arrives late, after the row has moved on, does nothing.
func TestLeasedGhost(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	proxy := dbtest.NewProxy(t, srv.Addr())
	c := assign(t, workernode.Leased(connect(t, srv.DSNVia(proxy.Addr(), name)+"&interpolateParams=true"), nil), 1)[0]
	_, until := c.Window()
	// The extension disappears into a black hole and is let out after the release.
	proxy.SetMatching(dbtest.BlackHole, statement("UPDATE WORKER_LEASE"))
	if _, err := c.Extend(within(t, 200*time.Millisecond), until.Add(240*time.Hour)); err == nil {
		t.Fatal("Extend into a black hole succeeded")
	}
	if _, after := c.Window(); !after.Equal(until) {
		t.Errorf("after an Extend that failed the window ends at %v, want %v", after, until)
	}
	proxy.Set(dbtest.None)
	if err := c.Release(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := srv.Query(t, name, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != "0" {
		t.Errorf("UNTIL_MS = %s after everything was given back, want 0", got)
	}
}

// TestLeasedClones: of two copies of one claim, as a virtual machine that was copied has them, one can extend.
func TestLeasedClones(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	one := assign(t, workernode.Leased(db, nil), 1)[0]
	two := workernode.Clone(one)
	_, until := one.Window()
	if _, err := one.Extend(t.Context(), until.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("the copy's Extend = %v, want ErrClaimLost", err)
	}
	if err := two.Release(t.Context(), time.Time{}); err != nil {
		t.Errorf("the copy's Release: %v", err)
	}
	_, until = one.Window()
	if _, err := one.Extend(t.Context(), until.Add(time.Hour)); err != nil {
		t.Errorf("the original's next Extend: %v", err)
	}
}

// TestLeasedTampering: a row that was changed, deleted or restored from a backup by hand is a lost claim, never a second owner.
func TestLeasedTampering(t *testing.T) {
	t.Parallel()
	for _, change := range []string{
		"DELETE FROM WORKER_LEASE WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET UNTIL_MS = 0 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET GENERATION = 0 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET GENERATION = 9223372036854775807, UNTIL_MS = -1 WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET OWNER = '' WHERE WORKER_ID = 1",
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 1)[0]
			srv.Query(t, name, change)
			_, until := c.Window()
			if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("Extend = %v, want ErrClaimLost", err)
			}
			if err := c.Release(t.Context(), until); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
}

// TestLeasedWrongClocks: processes whose database tells them wildly different times, as a failover to a machine with another
// clock would, reuse worker ids too early or too late and never own the same instant twice.
func TestLeasedWrongClocks(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	type window struct{ from, until time.Time }
	var mu sync.Mutex
	owned := map[int64][]window{}
	var wg sync.WaitGroup
	for _, skew := range []time.Duration{0, -72 * time.Hour, 72 * time.Hour, -time.Hour, 10 * 365 * 24 * time.Hour} {
		// The server's session variable puts its clock anywhere.
		dsn := fmt.Sprintf("%s&timestamp=%d", srv.DSN(name), time.Now().Add(skew).Unix())
		wg.Go(func() {
			a := workernode.Leased(connect(t, dsn), nil)
			for range 20 {
				c, err := a.Assign(t.Context(), maxWorker)
				if err != nil {
					t.Error(err)
					return
				}
				from, until := c.Window()
				if !from.Before(until) {
					t.Errorf("window = [%v, %v), want it not empty", from, until)
				}
				mu.Lock()
				owned[c.Worker()] = append(owned[c.Worker()], window{from, until})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	reused := 0
	for worker, windows := range owned {
		for i, a := range windows {
			for _, b := range windows[:i] {
				reused++
				if a.from.Before(b.until) && b.from.Before(a.until) {
					t.Errorf("worker %d was owned in [%v, %v) and in [%v, %v)", worker, a.from, a.until, b.from, b.until)
				}
			}
		}
	}
	if reused == 0 {
		t.Error("no worker id was assigned twice, so the test shows nothing")
	}
}

// TestLeasedManyProcesses: many claim at once on few free worker ids. Nobody fails, nobody shares, and no new worker id is made while
// there is a free one.
func TestLeasedManyProcesses(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes = 24
	for _, c := range assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), processes) {
		release(t, c, time.Time{})
	}
	var wg sync.WaitGroup
	workers := make([]int64, processes)
	for i := range processes {
		wg.Go(func() {
			c, err := workernode.Leased(connect(t, srv.DSN(name)), nil).Assign(t.Context(), maxWorker)
			if err != nil {
				t.Error(err)
				return
			}
			workers[i] = c.Worker()
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, w := range workers {
		if w < 1 || w > processes || seen[w] {
			t.Errorf("workers = %v, want each of 1..%d once", workers, processes)
			break
		}
		seen[w] = true
	}
}

// TestLeasedLayout: the first claim settles a namespace's layout, also among processes that are first together.
func TestLeasedLayout(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	const processes = 8
	var wg sync.WaitGroup
	errs := make([]error, processes)
	for i := range processes {
		wg.Go(func() {
			a := workernode.Leased(connect(t, srv.DSN(name)), nil).(assigner.LayoutBinder)
			_, errs[i] = a.BindLayout(fmt.Sprintf("layout-%d", i%2)).Assign(t.Context(), maxWorker)
		})
	}
	wg.Wait()
	won := map[int]int{}
	for i, err := range errs {
		switch {
		case err == nil:
			won[i%2]++
		case !errors.Is(err, assigner.ErrLayoutMismatch):
			t.Errorf("Assign = %v, want a claim or ErrLayoutMismatch", err)
		default:
			wantError(t, err, `"layout-0"`, `"layout-1"`, "namespace")
		}
	}
	if len(won) != 1 || won[0]+won[1] != processes/2 {
		t.Errorf("claims by layout = %v, want %d of one", won, processes/2)
	}
	// Another namespace may have another layout.
	for i := range 2 {
		o := &workernode.LeasedOptions{Namespace: fmt.Sprintf("other-%d", i)}
		a := workernode.Leased(connect(t, srv.DSN(name)), o).(assigner.LayoutBinder)
		if _, err := a.BindLayout(fmt.Sprintf("layout-%d", i)).Assign(t.Context(), maxWorker); err != nil {
			t.Error(err)
		}
	}
}

// TestLeasedNamespaces: namespaces do not use each other's worker ids, however similar their names.
func TestLeasedNamespaces(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	seen := map[int64]string{}
	for range 2 {
		for _, ns := range []string{"", "orders", "Orders", "örders", "orders'--", strings.Repeat("名", 64)} {
			c := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Namespace: ns}), 1)[0]
			if other, ok := seen[c.Worker()]; ok && other != ns {
				t.Errorf("worker %d is in namespaces %q and %q", c.Worker(), other, ns)
			}
			seen[c.Worker()] = ns
			release(t, c, time.Now())
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d worker ids for 6 namespaces, want one each, reused", len(seen))
	}
}

// TestLeasedExhausted: without a free worker id the error says when there is one, and nothing is used up by asking.
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
		wantError(t, err, "highest, 3", `namespace "default" is free in 19m`)
	}
	_, err := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "late"}).Assign(t.Context(), 3)
	wantError(t, err, "worker ids exhausted", `none is namespace "late"'s`)
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != "3" {
		t.Errorf("rows of WORKER_NODE = %s, want 3", got)
	}
	release(t, claims[1], time.Time{})
	if c, err := a.Assign(t.Context(), 3); err != nil || c.Worker() != 2 {
		t.Errorf("Assign after a release = %v, %v, want worker 2", c, err)
	}
}

// TestMigration: from Disposable to Leased and back on a live table, with both at work meanwhile: no worker id is assigned twice.
func TestMigration(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	seen := map[int64]bool{}
	take := func(stage string, a assigner.Assigner) {
		for _, c := range assign(t, a, 3) {
			if seen[c.Worker()] {
				t.Errorf("%s: worker %d is assigned already", stage, c.Worker())
			}
			seen[c.Worker()] = true
		}
	}
	take("before", workernode.Disposable(db, nil))
	for range 3 {
		take("both", workernode.Leased(db, nil))
		take("both", workernode.Disposable(db, nil))
	}
	take("leased", workernode.Leased(db, nil))
	take("back", workernode.Disposable(db, nil))
}

// TestLeasedOptions: wrong options are errors that name the field and the bound.
func TestLeasedOptions(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	for _, tt := range []struct {
		o      workernode.LeasedOptions
		layout string
		want   string
	}{
		{o: workernode.LeasedOptions{Window: time.Millisecond}, want: "Window is 1ms, want 1s to 8784h0m0s"},
		{o: workernode.LeasedOptions{Window: -1}, want: "Window is -1ns"},
		{o: workernode.LeasedOptions{Window: 1 << 62}, want: "Window is"},
		{o: workernode.LeasedOptions{Namespace: strings.Repeat("x", 65)}, want: "want 1 to 64 characters"},
		{o: workernode.LeasedOptions{Namespace: " x"}, want: `Namespace is " x"`},
		{o: workernode.LeasedOptions{Namespace: "x\x00"}, want: "no control characters"},
		{o: workernode.LeasedOptions{Namespace: "\xff"}, want: "Namespace is"},
		{layout: strings.Repeat("x", 192), want: "192 characters, want at most 191"},
	} {
		_, err := workernode.Leased(db, &tt.o).(assigner.LayoutBinder).BindLayout(tt.layout).Assign(t.Context(), maxWorker)
		wantError(t, err, tt.want)
	}
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_LEASE"); got != "0" {
		t.Errorf("rows after refusals = %s, want 0", got)
	}
}

// TestLeasedBounds: ends that no column holds are errors, and a release neither reserves more nor gives back what was others'.
func TestLeasedBounds(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), nil), 1)[0]
	for _, until := range []time.Time{{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<60, 0)} {
		_, err := c.Extend(t.Context(), until)
		wantError(t, err, "want an instant before the year 10000")
	}
	want := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	if until, err := c.Extend(t.Context(), want); err != nil || !until.Equal(want) {
		t.Errorf("Extend(%v) = %v, %v", want, until, err)
	}
	// A release never reserves more than there is.
	a := workernode.Leased(connect(t, srv.DSN(name)), nil)
	for _, used := range []time.Duration{time.Millisecond, time.Hour, 290 * 365 * 24 * time.Hour} {
		c := assign(t, a, 1)[0]
		_, until := c.Window()
		release(t, c, until.Add(used))
		row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = %d", c.Worker()))
		if row != fmt.Sprint(until.UnixMilli()) {
			t.Errorf("UNTIL_MS = %s after a release beyond the window's end, want %d, the end", row, until.UnixMilli())
		}
	}
	// And it never goes back behind the window's begin, before which others stamped.
	fence := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	for _, used := range []time.Time{fence, fence.Add(-time.Minute), {}, time.Unix(-1<<40, 0)} {
		c := assign(t, workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Namespace: "back"}), 1)[0]
		release(t, c, used)
		row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = %d", c.Worker()))
		if row != fmt.Sprint(fence.UnixMilli()) {
			t.Errorf("UNTIL_MS = %s after a release with %v, want %d, where the last owner ended", row, used, fence.UnixMilli())
		}
	}
}

func assign(t *testing.T, a assigner.Assigner, n int) []assigner.Claim {
	t.Helper()
	claims := make([]assigner.Claim, n)
	for i := range claims {
		var err error
		if claims[i], err = a.Assign(t.Context(), maxWorker); err != nil {
			t.Fatal(err)
		}
	}
	return claims
}

func release(t *testing.T, c assigner.Claim, used time.Time) {
	t.Helper()
	if err := c.Release(t.Context(), used); err != nil {
		t.Fatal(err)
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
