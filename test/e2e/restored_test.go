package e2e

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/workertable"
	"github.com/uidring/uidring/test/internal/page"
	"github.com/uidring/uidring/test/internal/uidcommand"
	"gorm.io/gorm"
)

// pageNames are the databases' names in sql/README.md, by dialect.
var pageNames = map[string]string{"MariaDB": "MySQL and MariaDB", "PostgreSQL": "PostgreSQL", "SQLite": "SQLite"}

// restoredPage returns the page's statements with the operator's numbers.
func restoredPage(t *testing.T, d dialect, highest int64, reach time.Duration) []string {
	t.Helper()
	statements, err := page.Restore("../../sql/README.md", pageNames[d.name], highest, reach)
	if err != nil {
		t.Fatal(err)
	}
	return statements
}

// execAll runs statements, and fails the test if one of them fails.
func execAll(t testing.TB, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := db.Exec(s).Error; err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// restored runs "uid workers restored" on the database of a DSN, and returns the statements.
func restored(t *testing.T, dsn string, highest int64, reach time.Duration, more ...string) []string {
	t.Helper()
	command, err := built()
	if err != nil {
		t.Fatal(err)
	}
	statements, err := uidcommand.Restored(t.Context(), command, dsn, highest, reach, more...)
	if err != nil {
		t.Fatal(err)
	}
	return statements
}

// TestRestoredPage: the page's statements are the ones that "uid workers restored" runs.
func TestRestoredPage(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		plan := restored(t, d.migrated(t), page.Highest, page.Reach, "--dry-run")
		if text := restoredPage(t, d, page.Highest, page.Reach); !slices.Equal(text, plan) {
			t.Errorf("the page has\n%q\nthe command has\n%q", text, plan)
		}
	})
}

// forgetKeys are statements that set the counter of WORKER_NODE to the highest row, by dialect. A
// restart does that on InnoDB before MySQL 8.0 and MariaDB 10.2.4.
var forgetKeys = map[string][]string{"MariaDB": {"ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1"}}

// wayBack are statements that put the tables back to the state before any claim, by dialect.
var wayBack = map[string][]string{
	"MariaDB": {"DELETE FROM WORKER_NODE", "DELETE FROM WORKER_LEASE",
		"ALTER TABLE WORKER_NODE AUTO_INCREMENT = 1"},
	"PostgreSQL": {"DELETE FROM WORKER_NODE", "DELETE FROM WORKER_LEASE",
		"ALTER TABLE WORKER_NODE ALTER COLUMN ID RESTART WITH 1"},
	"SQLite": {"DELETE FROM WORKER_NODE", "DELETE FROM WORKER_LEASE", "DELETE FROM sqlite_sequence"},
}

// TestRestoredCounter: a backup that is older than a claim has forgotten the claim, and the counter
// hands out the worker id again. No assigner can see that. The page's statements prevent it, also
// when the server forgets its counter afterwards. Running them twice does no harm.
func TestRestoredCounter(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		for _, repaired := range []string{"", "by the page", "by the command"} {
			for kind, make := range kinds {
				t.Run(kind+" "+repaired, func(t *testing.T) {
					dsn := d.migrated(t)
					db := d.connect(t, dsn)
					a := make(db)
					seen := map[int64]bool{}
					worker := func() int64 {
						t.Helper()
						c, err := a.Assign(t.Context(), 1<<16-1)
						if errors.Is(err, assigner.ErrWentBack) {
							c, err = a.Assign(t.Context(), 1<<16-1)
						}
						if err != nil {
							t.Fatal(err)
						}
						return c.Worker()
					}
					var highest int64
					for range 3 {
						highest = worker()
						seen[highest] = true
					}
					execAll(t, db, wayBack[d.name]...)
					a = make(db) // a process that knows nothing of the claims
					for range 2 {
						switch repaired {
						case "by the page":
							execAll(t, db, restoredPage(t, d, highest, time.Hour)...)
						case "by the command":
							restored(t, dsn, highest, time.Hour)
						}
					}
					if repaired != "" {
						execAll(t, db, forgetKeys[d.name]...)
					}
					again := false
					for range 3 {
						again = again || seen[worker()]
					}
					if again == (repaired != "") {
						t.Errorf("a worker id is reused: %v, want %v", again, repaired == "")
					}
				})
			}
		}
	})
}

// TestRestoredWindows: after the page's statements every worker id that the table still has is unused
// until the reach has passed, and its owner has lost it.
func TestRestoredWindows(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.migrated(t)
		db, store := d.connect(t, dsn), d.in(dsn, workertable.DefaultNamespace).open(t, lease.Options{})
		a := workernode.Leased(db, nil)
		var claims []assigner.Claim
		for range 2 {
			c, err := a.Assign(t.Context(), 1<<16-1)
			if err != nil {
				t.Fatal(err)
			}
			claims = append(claims, c)
		}
		if err := claims[1].Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		const reach = 5 * time.Hour
		execAll(t, db, restoredPage(t, d, 2, reach)...)
		slots, err := store.Slots(t.Context())
		if err != nil || len(slots) != 2 {
			t.Fatalf("Slots = %+v, %v, want 2", slots, err)
		}
		for _, s := range slots {
			if s.Owner != "" || s.Left < reach-time.Minute || s.Left > reach {
				t.Errorf("slot = %+v, want no owner and %v left", s, reach)
			}
		}
		_, until := claims[0].Window()
		if _, err := claims[0].Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of a claim from before = %v, want ErrClaimLost", err)
		}
		if c, err := workernode.Leased(db, nil).Assign(t.Context(), 1<<16-1); err != nil || c.Worker() < 3 {
			t.Errorf("Assign = %v, %v, want a new worker id", c, err)
		}
		// An end that is later stays.
		execAll(t, db, restoredPage(t, d, 2, time.Minute)...)
		if slots, err = store.Slots(t.Context()); err != nil || slots[0].Left < reach-time.Minute {
			t.Errorf("slot = %+v, %v, want the later end kept", slots[0], err)
		}
	})
}
