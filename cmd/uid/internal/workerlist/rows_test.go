package workerlist_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/workertable"
)

func TestRows(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	options := &workernode.LeasedOptions{Owner: "me", Window: time.Minute}
	claims := assign(t, workernode.Leased(db, options).BindLayout("L"), 2)
	used := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	if err := claims[0].Release(t.Context(), used); err != nil {
		t.Fatal(err)
	}

	if now, err := workerlist.Now(t.Context(), db); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("Now = %v, %v, want the current time", now, err)
	}
	uses := func(most, recent int64) {
		t.Helper()
		m, r, err := workerlist.Used(t.Context(), db, time.Hour)
		if err != nil || m != most || r != recent {
			t.Errorf("Used = %d, %d, %v, want %d, of which %d recent", m, r, err, most, recent)
		}
	}
	nodes, err := workerlist.Nodes(t.Context(), db, 1)
	if err != nil || len(nodes) != 1 || nodes[0].ID != 2 || time.Since(nodes[0].Created).Abs() > time.Minute {
		t.Errorf("Nodes = %+v, %v, want the newest, 2, made just now", nodes, err)
	}
	uses(2, 2)
	srv.Query(t, name, "UPDATE WORKER_NODE SET CREATED = '2020-01-01' WHERE ID = 1")
	created := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	nodes, err = workerlist.Nodes(t.Context(), db, 2)
	if err != nil || len(nodes) != 2 || nodes[1].Created != created {
		t.Errorf("Nodes = %+v, %v, want 1 last, with its time in UTC", nodes, err)
	}
	uses(2, 1)
	srv.Query(t, name, "ALTER TABLE WORKER_NODE MODIFY CREATED DATETIME; UPDATE WORKER_NODE SET CREATED = NULL")
	if nodes, err = workerlist.Nodes(t.Context(), db, 1); err != nil || !nodes[0].Created.IsZero() {
		t.Errorf("Nodes = %+v, %v, want no time where it is unknown", nodes, err)
	}
	uses(2, 2) // what has no time counts as recent
	srv.Query(t, name, "DELETE FROM WORKER_NODE")
	uses(0, 0)

	leases, err := workerlist.Leases(t.Context(), db)
	if err != nil || len(leases) != 2 {
		t.Fatalf("Leases = %+v, %v, want 2", leases, err)
	}
	if l := leases[0]; l.Worker != 1 || l.Owner != "" || !l.Free() || !l.Until.Equal(used) ||
		l.FencingToken != 2 || l.Layout != "L" || l.Newest != "L" || l.Namespace != "default" {
		t.Errorf("the lease that was given back = %+v", l)
	}
	if l := leases[1]; l.Worker != 2 || l.Owner != "me" || l.Free() || l.Left > time.Minute || l.FencingToken != 1 {
		t.Errorf("the lease that is held = %+v", l)
	}
	if !(workerlist.Lease{}).Free() || (workerlist.Lease{Slot: lease.Slot{Left: 1}}).Free() {
		t.Error("a lease is free when no time is left, and not before")
	}
}

// TestEach: listing, reaping and the database's time work on every dialect.
func TestEach(t *testing.T) {
	onEach(t, func(t *testing.T, fresh func(testing.TB) *gorm.DB) {
		db := fresh(t)
		ctx := t.Context()
		c, err := workernode.Leased(db, &workernode.LeasedOptions{Window: time.Second, Owner: "me"}).Assign(ctx, 31)
		if err != nil {
			t.Fatal(err)
		}
		_, end := c.Window()
		leases, err := workerlist.Leases(ctx, db)
		if err != nil || len(leases) != 1 || leases[0].Free() || leases[0].Owner != "me" ||
			!leases[0].Until.Equal(end) {
			t.Errorf("Leases = %+v, %v, want one, held until %v", leases, err, end)
		}
		now, err := workerlist.Now(ctx, db)
		if err != nil || time.Since(now).Abs() > time.Minute {
			t.Errorf("Now = %v, %v, want the current time", now, err)
		}
		nodes, err := workerlist.Nodes(ctx, db, 10)
		if err != nil || len(nodes) != 1 || time.Since(nodes[0].Created).Abs() > time.Minute {
			t.Errorf("Nodes = %+v, %v, want one, made just now", nodes, err)
		}
		most, recent, err := workerlist.Used(ctx, db, time.Hour)
		if err != nil || most != 1 || recent != 1 {
			t.Errorf("Used = %d, %d, %v, want one worker id, a recent one", most, recent, err)
		}
		time.Sleep(time.Until(end) + 100*time.Millisecond)
		if n, err := workerlist.Reap(ctx, db, workertable.DefaultNamespace); n != 1 || err != nil {
			t.Errorf("Reap = %d, %v, want 1", n, err)
		}
		if _, err := c.Extend(ctx, end.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of a reaped claim = %v, want ErrClaimLost", err)
		}
	})
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
// no other row, and makes nobody wait for what does not pass. Reap frees those that it can read.
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
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	reaped, err := workerlist.Reap(ctx, db, workertable.DefaultNamespace)
	check("Reap", err, row1, row2)
	if reaped != 1 {
		t.Errorf("Reap = %d, want 1", reaped)
	}
	if ctx.Err() != nil {
		t.Error("took until the ctx ended")
	}
}

// TestBadDB: what is not a usable *gorm.DB is refused by all functions.
func TestBadDB(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	good := connect(t, srv.DSN(name))
	closed := connect(t, srv.DSN(name))
	if pool, err := closed.DB(); err != nil || pool.Close() != nil {
		t.Fatal(err)
	}
	tx := good.Begin()
	defer tx.Rollback()
	for _, tt := range []struct {
		name string
		db   *gorm.DB
		want string
	}{
		{"nil", nil, "db is nil"},
		{"zero", &gorm.DB{}, "db is nil or was not opened"},
		{"transaction", tx, "db is a transaction"},
		{"closed", closed, "database is closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := within(t, 5*time.Second)
			_, err := workerlist.Nodes(ctx, tt.db, 1)
			wantError(t, err, tt.want)
			_, err = workerlist.Leases(ctx, tt.db)
			wantError(t, err, tt.want)
			_, err = workerlist.Reap(ctx, tt.db, "x")
			wantError(t, err, tt.want)
			_, _, err = workerlist.Used(ctx, tt.db, time.Hour)
			wantError(t, err, tt.want)
			_, err = workerlist.Now(ctx, tt.db)
			wantError(t, err, tt.want)
			_, err = workerlist.PlanRestore(ctx, tt.db, 1, 0, nil)
			wantError(t, err, tt.want)
			_, err = workerlist.Restore(ctx, tt.db, 1, 0, nil)
			wantError(t, err, tt.want)
			if ctx.Err() != nil {
				t.Errorf("the refusals took until the ctx ended: %v", context.Cause(ctx))
			}
		})
	}
}

// FuzzListedRow puts a row with anything in it into WORKER_LEASE. Listing and reaping take it in
// their stride.
func FuzzListedRow(f *testing.F) {
	srv, name := maria(f)
	db := connect(f, srv.DSN(name))
	f.Add(int64(1), int64(1), int64(1), "host pid 1", int64(0), "")
	f.Add(int64(0), int64(-1), int64(-1), "", int64(-1), "")
	f.Add(int64(5), int64(math.MaxInt64), int64(0), "x", int64(math.MinInt64), "")
	f.Add(int64(5), int64(math.MinInt64), int64(math.MinInt64), "NULL", int64(math.MaxInt64), "")
	f.Add(int64(7), int64(math.MaxInt64-1), int64(7), "\x00", time.Now().UnixMilli()+1000, "")
	f.Add(int64(-7), int64(1), int64(7), "'; DROP TABLE WORKER_LEASE", int64(1), "another layout")
	f.Add(int64(math.MaxInt64), int64(1), int64(7), "beyond", int64(1), "")
	f.Add(int64(1), int64(-9), int64(0), "x", int64(-math.MaxInt64), "")
	f.Add(int64(3), int64(0), int64(0), "", int64(0), "other layout")
	f.Fuzz(func(t *testing.T, worker, generation, nonce int64, owner string, until int64, layout string) {
		if worker == -1 {
			return // the namespace's own row is another test's
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := db.WithContext(ctx).Exec("DELETE FROM WORKER_LEASE").Error; err != nil {
			t.Fatal(err)
		}
		err := db.WithContext(ctx).Exec("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, "+
			"GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT) VALUES (?, ?, ?, ?, ?, ?, ?)",
			workertable.DefaultNamespace, worker, generation, nonce, owner, until, layout).Error
		if err != nil {
			return // the database does not store it
		}
		if _, err := workerlist.Leases(ctx, db); err != nil {
			t.Errorf("Leases: %v", err)
		}
		if _, err := workerlist.Reap(ctx, db, workertable.DefaultNamespace); err != nil && ctx.Err() != nil {
			t.Errorf("Reap waited for what does not pass: %v", err)
		}
	})
}
