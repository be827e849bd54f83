package e2e

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// copies are statements that keep a copy of both tables, and that put it in their place. The
// counter of WORKER_NODE is that of the highest row then, by dialect.
func copies(d dialect) (keep, restore []string) {
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		keep = append(keep, "CREATE TABLE COPY_"+table+" AS SELECT * FROM "+table)
	}
	restore = append(restore, wayBack[d.name]...)
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE"} {
		restore = append(restore, "INSERT INTO "+table+" SELECT * FROM COPY_"+table)
	}
	if d.name == "PostgreSQL" {
		restore = append(restore, "SELECT SETVAL(PG_GET_SERIAL_SEQUENCE('WORKER_NODE', 'id'), "+
			"(SELECT MAX(ID) FROM WORKER_NODE))")
	}
	return keep, restore
}

// TestLateOwner: an owner that was paused beyond its window wakes up after another process took its
// worker id over and the table went back to before both. Whatever it repairs, no third process gets
// a window that overlaps.
func TestLateOwner(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
			for _, how := range []string{"restored by the page", "one row deleted"} {
				t.Run(namespace+", "+how, func(t *testing.T) {
					t.Parallel()
					lateOwner(t, d, namespace, how == "one row deleted")
				})
			}
		}
	})
}

func lateOwner(t *testing.T, d dialect, namespace string, deleted bool) {
	dsn := d.migrated(t)
	db := d.connect(t, dsn)
	var windows winlog.Log
	var open []assigner.Claim
	start := func(db *gorm.DB, window time.Duration) assigner.Claim {
		t.Helper()
		c, err := workernode.Leased(db, &workernode.LeasedOptions{Namespace: namespace, Window: window}).
			Assign(t.Context(), 1<<16-1)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		return c
	}
	start(d.connect(t, dsn), 6*time.Hour) // the backup has a claim
	keep, restore := copies(d)
	execAll(t, db, keep...)
	late := start(d.connect(t, dsn), time.Second)
	_, end := late.Window()
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	heir := start(d.connect(t, dsn), 6*time.Hour)
	if heir.Worker() != late.Worker() {
		t.Fatalf("the heir has worker %d, want that of the late owner, %d", heir.Worker(), late.Worker())
	}
	if deleted {
		execAll(t, db, fmt.Sprintf("DELETE FROM WORKER_LEASE WHERE WORKER_ID = %d", late.Worker()))
	} else {
		execAll(t, db, restore...)
		execAll(t, db, restoredPage(t, d, heir.Worker()+1, 7*time.Hour)...)
	}
	if _, err := late.Extend(t.Context(), time.Now().Add(time.Minute)); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend of the late owner = %v, want ErrWentBack", err)
	}
	for range 3 {
		c := start(d.connect(t, dsn), 20*time.Minute)
		if _, err := c.Extend(t.Context(), time.Now().Add(40*time.Minute)); err != nil &&
			!errors.Is(err, assigner.ErrBeyondReach) {
			t.Error(err)
		}
	}
	slots, err := d.in(dsn, namespace).open(t, lease.Options{}).Slots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slots {
		if namespace == workertable.DefaultNamespace && s.Worker == late.Worker() {
			t.Errorf("the row of worker %d is there again: %+v; its key is used up", s.Worker, s)
		}
	}
	for i, c := range open {
		from, until := c.Window()
		windows.Put(winlog.Window{Claim: int64(i), Worker: c.Worker(), From: from, Until: until})
	}
	if err := windows.Overlap(); err != nil {
		t.Error(err)
	}
}
