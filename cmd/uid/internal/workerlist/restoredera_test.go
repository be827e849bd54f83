package workerlist_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
)

// TestRestoredEra: a backup that is older than an era has a list without it, and a process that does
// not know the era would agree with that. Restore does nothing without the list, and with it the
// windows of such a process end where the era begins.
func TestRestoredEra(t *testing.T) {
	onEach(t, func(t *testing.T, fresh func(testing.TB) *gorm.DB) {
		for _, gone := range []string{"the era", "the header", "the namespace"} {
			t.Run(gone, func(t *testing.T) {
				t.Parallel()
				db := fresh(t)
				const before = "28-22-13-0/1s@2026-01-01T00:00:00Z"
				from := time.Now().Add(30 * time.Hour).Truncate(time.Second).UTC()
				both := before + ",36-14-13-0/1s+99999999@" + from.Format(time.RFC3339)
				claim := func(list string) (assigner.Claim, error) {
					a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", Window: 12 * time.Hour})
					return a.BindLayout(list).Assign(t.Context(), 1<<14-1)
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
				execAll(t, db, "CREATE TABLE COPY_LEASE AS SELECT * FROM WORKER_LEASE")
				must(both)
				execAll(t, db, "DELETE FROM WORKER_LEASE", "INSERT INTO WORKER_LEASE SELECT * FROM COPY_LEASE")
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

// TestRestoreHeader: where the header was deleted, nothing is claimed until Restore has made it anew,
// also where claims name no layout. A layout is added after the windows of the rows then.
func TestRestoreHeader(t *testing.T) {
	onEach(t, func(t *testing.T, fresh func(testing.TB) *gorm.DB) {
		for _, list := range []string{"", "28-22-13-0/1s@2026-01-01T00:00:00Z"} {
			db := fresh(t)
			bind := func(list string) assigner.Assigner {
				return workernode.Leased(db, &workernode.LeasedOptions{Window: time.Minute}).
					BindLayout(list)
			}
			_, until := assign(t, bind(list), 1)[0].Window()
			if err := assign(t, bind(list), 1)[0].Release(t.Context(), time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
			execAll(t, db, "DELETE FROM WORKER_LEASE WHERE WORKER_ID = -1")
			if c, err := bind(list).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
				t.Errorf("Assign without the header = %v, %v, want ErrWentBack", c, err)
			}
			lists := map[string]string{}
			if list != "" {
				lists[""] = list
			}
			if _, err := workerlist.Restore(t.Context(), db, 2, 0, lists); err != nil {
				t.Fatal(err)
			}
			if c := assign(t, bind(list), 1)[0]; c.Worker() != 2 {
				t.Errorf("worker = %d, want 2, which is free", c.Worker())
			}
			if list == "" {
				continue
			}
			both := list + ",36-14-13-0/1s+99999999@" + until.Add(-time.Second).UTC().Format(time.RFC3339Nano)
			_, err := bind(both).Assign(within(t, 10*time.Second), maxWorker)
			if !errors.Is(err, assigner.ErrLayoutMismatch) {
				t.Errorf("Assign with a layout that begins before the end of a window = %v", err)
			}
		}
	})
}

// TestRestoreMoved: a namespace that was moved stays so, and neither needs a list of layouts nor gets
// one. A name that a statement would have to escape is refused.
func TestRestoreMoved(t *testing.T) {
	onEach(t, func(t *testing.T, fresh func(testing.TB) *gorm.DB) {
		db := fresh(t)
		const list = "28-22-13-0/1s@2026-01-01T00:00:00Z"
		open := func(namespace string) *lease.Assigner {
			t.Helper()
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			store, err := sqlstore.New(pool, db.Name(), &sqlstore.Options{Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			a, err := lease.New(store, nil)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		claim := func(namespace string) error {
			_, err := open(namespace).BindLayout(list).Assign(t.Context(), maxWorker)
			return err
		}
		if err := claim("orders"); err != nil {
			t.Fatal(err)
		}
		if _, err := lease.Move(t.Context(), open("orders"), open("users"), nil); err != nil {
			t.Fatal(err)
		}
		const header = "SELECT LAYOUT FROM WORKER_LEASE WHERE NAMESPACE = 'orders' AND WORKER_ID = -1"
		var before, after string
		if err := db.Raw(header).Row().Scan(&before); err != nil {
			t.Fatal(err)
		}
		plan, err := workerlist.Restore(t.Context(), db, 10, 48*time.Hour,
			map[string]string{"users": list, "orders": list})
		if err != nil || !slices.Equal(plan.Namespaces, []string{"orders", "users"}) {
			t.Fatalf("Restore = %+v, %v, want both namespaces", plan, err)
		}
		if err := db.Raw(header).Row().Scan(&after); err != nil || after != before {
			t.Errorf("the header has %q, %v, want %q as before", after, err, before)
		}
		if err := claim("orders"); !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Assign where the worker ids were moved from = %v, want ErrMoved", err)
		}
		if err := claim("users"); err != nil {
			t.Errorf("Assign where they were moved to: %v", err)
		}

		_, err = workerlist.PlanRestore(t.Context(), db, 10, time.Hour,
			map[string]string{"users": list, "o'brien": list})
		wantError(t, err, `namespace "o'brien"`, "have to escape")
	})
}
