package workernode_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
)

// TestReach: whatever is asked for, no window ends later than Reach from the database's time. What
// is granted up to there is a success, and what is not is an error that names both clocks.
func TestReach(t *testing.T) {
	t.Parallel()
	for _, reach := range []time.Duration{0, 3 * day} {
		t.Run(reach.String(), func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			db := connect(t, srv.DSN(name))
			a, at := clocked(t, db)
			if reach > 0 {
				a = workernode.Leased(db, &workernode.LeasedOptions{Reach: reach})
			}
			now := time.Now().Truncate(time.Second)
			at(now)
			c := assign(t, a, 1)[0]
			end := now.Add(max(reach, day))
			far := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
			if got, err := c.Extend(t.Context(), far); err != nil || !got.Equal(end) {
				t.Errorf("Extend until 2999 = %v, %v, want what there is up to %v", got, err, end)
			}
			_, err := c.Extend(t.Context(), far)
			if !errors.Is(err, assigner.ErrBeyondReach) || errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("Extend at the reach = %v, want ErrBeyondReach", err)
			}
			wantError(t, err, "2999-01-01", now.UTC().Format("2006-01-02 15:04:05"), max(reach, day).String(),
				"one of the two clocks is wrong", "Options.Reach")
			if _, got := c.Window(); !got.Equal(end) || !endOf(t, srv, name, 1).Equal(end) {
				t.Errorf("the window ends at %v, its row at %v, want %v", got, endOf(t, srv, name, 1), end)
			}
			at(now.Add(time.Hour))
			if got, err := c.Extend(t.Context(), far); err != nil || !got.Equal(end.Add(time.Hour)) {
				t.Errorf("Extend an hour later = %v, %v, want an hour more", got, err)
			}
			// A database whose clock goes back further than the reach.
			at(now.Add(-2 * time.Hour))
			_, err = c.Extend(t.Context(), end.Add(2*time.Hour))
			if !errors.Is(err, assigner.ErrBeyondReach) {
				t.Errorf("Extend by a clock that went back = %v, want ErrBeyondReach", err)
			}
		})
	}
}

// TestReachKept: the namespace keeps the greatest Reach of its processes, and a repair by one with
// a smaller one goes by it.
func TestReachKept(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	kept := func() string {
		t.Helper()
		return srv.Query(t, name, "SELECT UNTIL_MS FROM WORKER_LEASE WHERE WORKER_ID = -1")
	}
	want := func(reach time.Duration) {
		t.Helper()
		if got := kept(); got != fmt.Sprint(reach.Milliseconds()) {
			t.Errorf("the namespace has the reach %s, want %d", got, reach.Milliseconds())
		}
	}
	process := func(o *workernode.LeasedOptions) assigner.Claim {
		t.Helper()
		return assign(t, workernode.Leased(connect(t, srv.DSN(name)), o), 1)[0]
	}
	c := process(nil)
	want(day)
	srv.Query(t, name, "UPDATE WORKER_LEASE SET UNTIL_MS = 0 WHERE WORKER_ID = -1") // an earlier version's
	process(nil)
	want(0)
	far := process(&workernode.LeasedOptions{Reach: 5 * day})
	want(5 * day)
	process(&workernode.LeasedOptions{Window: day})
	want(5 * day)
	srv.Query(t, name, "UPDATE WORKER_LEASE SET GENERATION = 0, UNTIL_MS = 5 WHERE WORKER_ID = 1")
	_, until := c.Window()
	if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend = %v, want ErrWentBack", err)
	}
	if got := endOf(t, srv, name, 1); got.Before(time.Now().Add(5*day - time.Minute)) {
		t.Errorf("the repaired row ends at %v, want 5 days from now", got)
	}
	// A header that has forgotten the reach learns it before the next window counts.
	srv.Query(t, name, "UPDATE WORKER_LEASE SET UNTIL_MS = 0 WHERE WORKER_ID = -1")
	_, until = far.Window()
	if _, err := far.Extend(t.Context(), until.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	want(5 * day)
}

// TestReachBounds: a Reach that is out of range is refused by name.
func TestReachBounds(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	for _, o := range []workernode.LeasedOptions{
		{Reach: -1}, {Reach: time.Hour - 1}, {Reach: 2*366*day + 1}, {Reach: 2 * day, Window: day},
	} {
		_, err := workernode.Leased(db, &o).Assign(t.Context(), maxWorker)
		wantError(t, err, "Reach is "+o.Reach.String(), "want ")
	}
	for i, o := range []workernode.LeasedOptions{
		{Reach: time.Hour}, {Reach: 2 * 366 * day}, {Window: 366 * day}, {Reach: 3 * day, Window: day},
	} {
		if _, err := workernode.Leased(db, &o).Assign(t.Context(), maxWorker); err != nil {
			t.Errorf("Assign %d = %v", i, err)
		}
	}
}
