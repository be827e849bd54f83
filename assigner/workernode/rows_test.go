package workernode_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/workerlist"
	"github.com/uidring/uidring/internal/workertable"
)

func TestRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	options := &workernode.LeasedOptions{Owner: "me", Window: time.Minute}
	claims := assign(t, workernode.Leased(db, options).(assigner.LayoutBinder).BindLayout("L"), 2)
	used := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	release(t, claims[0], used)

	nodes, err := workerlist.Nodes(t.Context(), db, 1)
	if err != nil || len(nodes) != 1 || nodes[0].ID != 2 || time.Since(nodes[0].Created).Abs() > time.Minute {
		t.Errorf("Nodes = %+v, %v, want the newest, 2, made just now", nodes, err)
	}
	usage, err := workerlist.Used(t.Context(), db, time.Hour)
	if err != nil || usage.Highest != 2 || usage.Rows != 2 || usage.Recent != 2 ||
		usage.Now.Sub(usage.Since) != time.Hour {
		t.Errorf("Used = %+v, %v, want 2 worker ids, both recent", usage, err)
	}
	srv.Query(t, name, "UPDATE WORKER_NODE SET CREATED = '2020-01-01', MODIFIED = '2021-01-01' WHERE ID = 1")
	srv.Query(t, name, "UPDATE WORKER_LEASE SET CREATED = '2020-01-01', MODIFIED = '2021-01-01' WHERE WORKER_ID = 1")
	created, modified := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	nodes, err = workerlist.Nodes(t.Context(), db, 2)
	if err != nil || len(nodes) != 2 || nodes[1].Created != created || nodes[1].Modified != modified {
		t.Errorf("Nodes = %+v, %v, want 1 last, with its times in UTC", nodes, err)
	}
	if usage, err = workerlist.Used(t.Context(), db, time.Hour); err != nil || usage.Highest != 2 || usage.Recent != 1 {
		t.Errorf("Used = %+v, %v, want one of 2 recent", usage, err)
	}
	srv.Query(t, name, "ALTER TABLE WORKER_NODE MODIFY CREATED DATETIME; UPDATE WORKER_NODE SET CREATED = NULL")
	if nodes, err = workerlist.Nodes(t.Context(), db, 1); err != nil || !nodes[0].Created.IsZero() {
		t.Errorf("Nodes = %+v, %v, want no time where it is unknown", nodes, err)
	}
	if usage, err = workerlist.Used(t.Context(), db, time.Hour); err != nil || usage.Recent != 2 {
		t.Errorf("Used = %+v, %v, want what has no time to count as recent", usage, err)
	}
	srv.Query(t, name, "DELETE FROM WORKER_NODE")
	if usage, err = workerlist.Used(t.Context(), db, time.Hour); err != nil || usage.Highest != 0 || usage.Recent != 0 {
		t.Errorf("Used = %+v, %v, want nothing", usage, err)
	}

	leases, err := workerlist.Leases(t.Context(), db)
	if err != nil || len(leases) != 2 {
		t.Fatalf("Leases = %+v, %v, want 2", leases, err)
	}
	if l := leases[0]; l.Worker != 1 || l.Owner != "" || !l.Free() || !l.Until.Equal(used) ||
		l.FencingToken != 2 || l.Layout != "L" || l.Newest != "L" || l.Namespace != "default" ||
		l.Created != created || l.Modified != modified {
		t.Errorf("the lease that was given back = %+v", l)
	}
	if l := leases[1]; l.Worker != 2 || l.Owner != "me" || l.Free() || l.Left > time.Minute || l.FencingToken != 1 {
		t.Errorf("the lease that is held = %+v", l)
	}
	if !(workerlist.Lease{}).Free() || (workerlist.Lease{Slot: lease.Slot{Left: 1}}).Free() {
		t.Error("a lease is free when no time is left, and not before")
	}
	if now, err := workerlist.Now(t.Context(), db); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("Now = %v, %v, want the current time", now, err)
	}
}

// TestReap: what has passed is freed and fenced, what has not is left alone, and the end of the
// window is remembered.
func TestReap(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	past := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Window: 3 * time.Second}), 2)
	held := assign(t, workernode.Leased(db, nil), 1)[0]
	_, end := past[1].Window()
	if n, err := workerlist.Reap(t.Context(), db, workertable.DefaultNamespace); n != 0 || err != nil {
		t.Errorf("Reap while all windows are open = %d, %v, want 0", n, err)
	}
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	if n, err := workerlist.Reap(t.Context(), db, "other"); n != 0 || err != nil {
		t.Errorf("Reap of another namespace = %d, %v, want 0", n, err)
	}
	for i, want := range []int{2, 0} {
		if n, err := workerlist.Reap(t.Context(), db, workertable.DefaultNamespace); n != want || err != nil {
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
	fences := map[int64]time.Time{}
	for _, c := range past {
		_, fences[c.Worker()] = c.Window()
	}
	for _, heir := range assign(t, workernode.Leased(db, nil), 2) {
		if from, _ := heir.Window(); !from.Equal(fences[heir.Worker()]) {
			t.Errorf("heir = worker %d from %v, want one of %v", heir.Worker(), from, fences)
		}
	}
}

// TestUnreadable: a row with text where a number belongs is named with its column and value, hides
// no other row, and makes nobody wait for what does not pass.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	ctx := within(t, 20*time.Second)
	claims := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Window: 3 * time.Second}), 3)
	_, end := claims[2].Window()
	for _, s := range []string{
		"ALTER TABLE WORKER_LEASE MODIFY UNTIL_MS VARCHAR(20) NOT NULL, MODIFY NONCE VARCHAR(20) NOT NULL",
		"ALTER TABLE WORKER_NODE MODIFY TYPE VARCHAR(20)",
		"UPDATE WORKER_LEASE SET UNTIL_MS = 'soon' WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET NONCE = 'many' WHERE WORKER_ID = 2",
		"UPDATE WORKER_NODE SET TYPE = NULL WHERE ID = 3",
	} {
		srv.Query(t, name, s)
	}
	check := func(what string, err error, want ...workertable.Unreadable) {
		t.Helper()
		var bad *workerlist.UnreadableError
		if !errors.As(err, &bad) || len(bad.Rows) != len(want) || len(bad.Unwrap()) != len(want) {
			t.Fatalf("%s: error = %v, want an UnreadableError of %d rows", what, err, len(want))
		}
		for i, w := range want {
			if r := bad.Rows[i]; r.Table != w.Table || r.Namespace != w.Namespace || r.Worker != w.Worker {
				t.Errorf("%s: row %d = %+v, want %+v", what, i, r, w)
			}
			wantError(t, err, bad.Rows[i].String(), w.Err.Error())
		}
	}
	row1 := workertable.Unreadable{Table: "WORKER_LEASE", Namespace: "default", Worker: "1",
		Err: errors.New("\"soon\"")}
	row2 := workertable.Unreadable{Table: "WORKER_LEASE", Namespace: "default", Worker: "2", Err: errors.New("NONCE")}

	leases, err := workerlist.Leases(ctx, db)
	check("Leases", err, row1)
	wantError(t, err, `the row of worker "1" in namespace "default"`, "UNTIL_MS")
	if len(leases) != 2 || leases[0].Worker != 2 || leases[1].Worker != 3 {
		t.Errorf("Leases = %+v, want workers 2 and 3", leases)
	}
	nodes, err := workerlist.Nodes(ctx, db, 10)
	check("Nodes", err, workertable.Unreadable{Table: "WORKER_NODE", Worker: "3", Err: errors.New("TYPE")})
	wantError(t, err, `WORKER_NODE: the row of worker "3" cannot be read`)
	if len(nodes) != 2 || nodes[0].ID != 2 || nodes[1].ID != 1 {
		t.Errorf("Nodes = %+v, want 2 and 1", nodes)
	}
	for i, c := range claims[:2] {
		if _, err := c.Extend(ctx, end.Add(time.Hour)); err == nil || errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of worker %d, whose row cannot be read = %v, want an error that it "+
				"is not lost for", i+1, err)
		}
	}
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	reaped, err := workerlist.Reap(ctx, db, workertable.DefaultNamespace)
	check("Reap", err, row1, row2)
	if reaped != 1 {
		t.Errorf("Reap = %d, want 1", reaped)
	}
	var log bytes.Buffer
	logged := &workernode.LeasedOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if c, err := workernode.Leased(db, logged).Assign(ctx, maxWorker); err != nil || c.Worker() != 3 {
		t.Errorf("Assign = %v, %v, want worker 3, the only one whose row can be read", c, err)
	}
	wantLog(t, &log, "rows cannot be read and are not claimed",
		`WORKER_LEASE: the row of worker \"1\" in namespace \"default\"`)
	if c := assign(t, workernode.Leased(db, nil), 1)[0]; c.Worker() != 4 { // without a logger
		t.Errorf("worker = %d, want 4, a new one", c.Worker())
	}
	srv.Query(t, name, "ALTER TABLE WORKER_LEASE MODIFY LAYOUT VARCHAR(191) NULL; UPDATE "+
		"WORKER_LEASE SET LAYOUT = NULL WHERE WORKER_ID = -1")
	_, err = workernode.Leased(db, nil).Assign(ctx, maxWorker)
	wantError(t, err, "LAYOUT")
	if ctx.Err() != nil {
		t.Error("took until the ctx ended")
	}
}
