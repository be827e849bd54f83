package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// FuzzStoredRow puts a row with anything in it where a claim looks. Whatever it is: nothing panics,
// the claim comes or a clear error, a window never begins before the row's end, and extending and
// giving back take it in their stride.
func FuzzStoredRow(f *testing.F) {
	srv, name := maria(f)
	db := connect(f, srv.DSN(name))
	f.Add(int64(1), int64(1), int64(1), "host pid 1", int64(0), "")
	f.Add(int64(0), int64(-1), int64(-1), "", int64(-1), "")
	f.Add(int64(5), int64(math.MaxInt64), int64(0), "x", int64(math.MinInt64), "")
	f.Add(int64(5), int64(math.MinInt64), int64(math.MinInt64), "NULL", int64(math.MaxInt64), "")
	f.Add(int64(7), int64(math.MaxInt64-1), int64(7), "\x00", time.Now().UnixMilli()+1000, "")
	f.Add(int64(-7), int64(1), int64(7), "'; DROP TABLE WORKER_LEASE", int64(1), "another layout")
	f.Add(int64(math.MaxInt64), int64(1), int64(7), "beyond", int64(1), "")
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
		stored := time.UnixMilli(until)
		c, err := workernode.Leased(db, &workernode.LeasedOptions{Window: time.Second}).Assign(ctx, maxWorker)
		if ctx.Err() != nil {
			t.Fatalf("Assign waited for what does not pass: %v", err)
		}
		if err == nil {
			useClaim(ctx, t, db, c, worker, stored)
		} else if strings.Contains(err.Error(), dbtest.Password) {
			t.Errorf("the error shows the password: %v", err)
		}
	})
}

// useClaim does with a claim what a generator does, next to a row of a worker id that ends at
// stored.
func useClaim(ctx context.Context, t *testing.T, db *gorm.DB, c assigner.Claim, worker int64, stored time.Time) {
	t.Helper()
	from, until := c.Window()
	if c.Worker() < 0 || c.Worker() > maxWorker {
		t.Errorf("worker id %d, want 0..%d", c.Worker(), maxWorker)
	}
	if c.Worker() == worker && stored.UnixMilli() > 0 && from.Before(stored) {
		t.Errorf("the window of worker %d begins at %v, want %v or later, where the last one ended",
			worker, from, stored)
	}
	if !until.After(from) {
		t.Errorf("window [%v, %v) is empty", from, until)
	}
	end, err := c.Extend(ctx, until.Add(time.Minute))
	switch {
	case err != nil && !errors.Is(err, assigner.ErrClaimLost):
		t.Logf("Extend: %v", err)
	case err == nil && end.Before(until.Add(time.Minute)):
		t.Errorf("Extend = %v, want %v or later", end, until.Add(time.Minute))
	}
	if err := c.Release(ctx, time.Time{}); err != nil {
		t.Logf("Release: %v", err)
	}
	if c.Worker() != worker || stored.UnixMilli() <= 0 {
		return
	}
	var row int64
	err = db.WithContext(ctx).Raw("SELECT UNTIL_MS FROM WORKER_LEASE WHERE NAMESPACE = ? AND "+
		"WORKER_ID = ?", workertable.DefaultNamespace, worker).Row().Scan(&row)
	if err != nil || row < stored.UnixMilli() {
		t.Errorf("after the release the row ends at %d, %v, want %d or later: the fence went back",
			row, err, stored.UnixMilli())
	}
}

// FuzzStoredLayout puts anything in the row that keeps the namespace's layout: claims of that
// layout are good, all others are refused, but for the first layout of all.
func FuzzStoredLayout(f *testing.F) {
	srv, name := maria(f)
	db := connect(f, srv.DSN(name))
	f.Add("28-22-13-0/1s@2026-01-01T00:00:00Z", "28-22-13-0/1s@2026-01-01T00:00:00Z")
	f.Add("", "28-22-13-0/1s@2026-01-01T00:00:00Z")
	f.Add("A", "a")
	f.Add("a ", "a")
	f.Add("\x00", "")
	f.Fuzz(func(t *testing.T, stored, ours string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := db.WithContext(ctx).Exec("DELETE FROM WORKER_LEASE").Error; err != nil {
			t.Fatal(err)
		}
		err := db.WithContext(ctx).Exec("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, "+
			"GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT) VALUES (?, -1, 0, 0, '', 0, ?)",
			workertable.DefaultNamespace, stored).Error
		if err != nil {
			return // the database does not store it
		}
		a := workernode.Leased(db, &workernode.LeasedOptions{Window: time.Second})
		_, err = a.BindLayout(ours).Assign(ctx, maxWorker)
		// Where the claims so far have named no layout, one with an epoch is added.
		if same := stored == ours; stored != "" && same != (err == nil) || !same && err != nil &&
			!errors.Is(err, assigner.ErrLayoutMismatch) && len(ours) <= 191 {
			t.Errorf("layout %q with the stored %q: %v", ours, stored, err)
		}
		if err != nil && stored != "" && errors.Is(err, assigner.ErrLayoutMismatch) &&
			!strings.Contains(err.Error(), fmt.Sprintf("%q", stored)) {
			t.Errorf("the error does not show the stored layout %q: %v", stored, err)
		}
	})
}
