package workernode_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
)

func TestRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	options := &workernode.LeasedOptions{Namespace: "orders", Owner: "me", Window: time.Second}
	claims := assign(t, workernode.Leased(db, options).(assigner.LayoutBinder).BindLayout("L"), 2)
	used := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	release(t, claims[0], used)

	nodes, err := workernode.Nodes(t.Context(), db, 1)
	if err != nil || len(nodes) != 1 || nodes[0].ID != 2 || time.Since(nodes[0].Created).Abs() > time.Minute {
		t.Errorf("Nodes = %+v, %v, want the newest, 2, made just now", nodes, err)
	}
	usage, err := workernode.Used(t.Context(), db, time.Hour)
	if err != nil || usage.Highest != 2 || usage.Rows != 2 || usage.Recent != 2 || usage.Now.Sub(usage.Since) != time.Hour {
		t.Errorf("Used = %+v, %v, want 2 worker ids, both recent", usage, err)
	}
	srv.Query(t, name, "UPDATE WORKER_NODE SET CREATED = '2020-01-01' WHERE ID = 1")
	if usage, err = workernode.Used(t.Context(), db, time.Hour); err != nil || usage.Highest != 2 || usage.Recent != 1 {
		t.Errorf("Used = %+v, %v, want one of 2 recent", usage, err)
	}

	leases, err := workernode.Leases(t.Context(), db)
	if err != nil || len(leases) != 2 {
		t.Fatalf("Leases = %+v, %v, want 2", leases, err)
	}
	if l := leases[0]; l.Worker != 1 || l.Owner != "" || !l.Free() || !l.Until.Equal(used) || l.Generation != 2 || l.Layout != "L" || l.Namespace != "orders" {
		t.Errorf("the lease that was given back = %+v", l)
	}
	if l := leases[1]; l.Worker != 2 || l.Owner != "me" || l.Free() || l.Left > time.Second || l.Generation != 1 {
		t.Errorf("the lease that is held = %+v", l)
	}
	if now, err := workernode.Now(t.Context(), db); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("Now = %v, %v, want the present", now, err)
	}
}

// TestReap: what has passed is freed and fenced, what has not is left alone, and the end of the window is remembered.
func TestReap(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	past := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Window: time.Second}), 2)
	held := assign(t, workernode.Leased(db, nil), 1)[0]
	_, end := past[1].Window()
	if n, err := workernode.Reap(t.Context(), db, workernode.DefaultNamespace); n != 0 || err != nil {
		t.Errorf("Reap while all windows are open = %d, %v, want 0", n, err)
	}
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	if n, err := workernode.Reap(t.Context(), db, "other"); n != 0 || err != nil {
		t.Errorf("Reap of another namespace = %d, %v, want 0", n, err)
	}
	for i, want := range []int{2, 0} {
		if n, err := workernode.Reap(t.Context(), db, workernode.DefaultNamespace); n != want || err != nil {
			t.Errorf("Reap %d = %d, %v, want %d", i, n, err, want)
		}
	}
	for _, c := range past {
		if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of a reaped claim = %v, want ErrClaimLost", err)
		}
	}
	_, until := held.Window()
	if _, err := held.Extend(t.Context(), until.Add(time.Hour)); err != nil {
		t.Errorf("Extend of a claim that is held: %v", err)
	}
	heir := assign(t, workernode.Leased(db, nil), 1)[0]
	_, fence := past[0].Window()
	if from, _ := heir.Window(); heir.Worker() != past[0].Worker() || !from.Equal(fence) {
		t.Errorf("heir = worker %d from %v, want worker %d from %v", heir.Worker(), from, past[0].Worker(), fence)
	}
}
