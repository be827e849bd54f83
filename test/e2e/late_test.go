package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/internal/workerlist"
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
	rows, err := workerlist.Leases(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if namespace == workertable.DefaultNamespace && r.Worker == late.Worker() {
			t.Errorf("the row of worker %d is there again: %+v; its key is used up", r.Worker, r)
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

// TestRestoredEra: a backup that is older than an era has a list without it, and a process that does
// not know the era would agree with that. Restore does nothing without the list, and with it the
// windows of such a process end where the era begins.
func TestRestoredEra(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for _, gone := range []string{"the era", "the header", "the namespace"} {
			t.Run(gone, func(t *testing.T) {
				t.Parallel()
				db := d.connect(t, d.migrated(t))
				const before = "28-22-13-0/1s@2026-01-01T00:00:00Z"
				from := time.Now().Add(30 * time.Hour).Truncate(time.Second).UTC()
				both := before + ",36-14-13-0/1s+99999999@" + from.Format(time.RFC3339)
				claim := func(list string) (assigner.Claim, error) {
					a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", Window: 12 * time.Hour})
					return a.(assigner.LayoutBinder).BindLayout(list).Assign(t.Context(), 1<<14-1)
				}
				must := func(list string) assigner.Claim {
					t.Helper()
					c, err := claim(list)
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				if gone != "the namespace" {
					must(before)
				}
				keep, restore := copies(d)
				if d.name == "PostgreSQL" {
					restore = restore[:len(restore)-1] // there are no keys
				}
				execAll(t, db, keep...)
				must(both)
				execAll(t, db, restore...)
				if gone == "the header" {
					execAll(t, db, "DELETE FROM WORKER_LEASE WHERE WORKER_ID < 0")
				}
				run := func(layouts map[string]string) error {
					_, err := workerlist.Restore(t.Context(), db, 10, time.Hour, layouts)
					return err
				}
				if gone != "the namespace" { // which no table shows
					if err := run(nil); err == nil || !strings.Contains(err.Error(), `"orders=`+before+`"`) {
						t.Errorf("Restore without a list = %v, want an error that names it", err)
					}
					if gone == "the header" {
						if c, err := claim(before); !errors.Is(err, assigner.ErrWentBack) {
							t.Errorf("Assign without the header = %v, %v, want ErrWentBack", c, err)
						}
					}
					for _, list := range []string{"", both[:20], "36-14-13-0/1s@2026-01-01T00:00:00Z"} {
						err := run(map[string]string{"orders": list})
						if !errors.Is(err, assigner.ErrLayoutMismatch) {
							t.Errorf("Restore with %q = %v, want ErrLayoutMismatch", list, err)
						}
					}
				}
				for range 2 {
					if err := run(map[string]string{"orders": both, "users": before}); err != nil {
						t.Fatal(err)
					}
				}
				c := must(before)
				_, until := c.Window()
				for step := until.Add(10 * time.Hour); ; {
					end, err := c.Extend(t.Context(), step)
					if errors.Is(err, assigner.ErrSuperseded) || errors.Is(err, assigner.ErrBeyondReach) {
						break
					}
					if step = end.Add(10 * time.Hour); err != nil || end.After(from) {
						t.Fatalf("Extend without the era = %v, %v, want %v at the latest", end, err, from)
					}
				}
				leases, err := workerlist.Leases(t.Context(), db)
				if err != nil || len(leases) == 0 || leases[len(leases)-1].Newest != both {
					t.Errorf("Leases = %+v, %v, want the newest layouts %q", leases, err, both)
				}
				must(both)
			})
		}
	})
}
