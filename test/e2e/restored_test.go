package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/workerlist"
	"github.com/uidring/uidring/test/internal/page"
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

// TestRestoredPage: the page's statements are the ones that Restore runs.
func TestRestoredPage(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		plan, err := workerlist.PlanRestore(t.Context(), d.connect(t, d.migrated(t)), page.Highest, page.Reach, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := restoredPage(t, d, page.Highest, page.Reach); !slices.Equal(text, plan.Statements) {
			t.Errorf("the page has\n%q\nPlanRestore has\n%q", text, plan.Statements)
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
		for _, repaired := range []string{"", "by the page", "by Restore"} {
			for kind, make := range kinds {
				t.Run(kind+" "+repaired, func(t *testing.T) {
					db := d.connect(t, d.migrated(t))
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
						case "by Restore":
							if _, err := workerlist.Restore(t.Context(), db, highest, time.Hour, nil); err != nil {
								t.Fatal(err)
							}
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
		db := d.connect(t, d.migrated(t))
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
		leases, err := workerlist.Leases(t.Context(), db)
		if err != nil || len(leases) != 2 {
			t.Fatalf("Leases = %+v, %v, want 2", leases, err)
		}
		for _, l := range leases {
			if l.Owner != "" || l.Left < reach-time.Minute || l.Left > reach {
				t.Errorf("lease = %+v, want no owner and %v left", l, reach)
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
		if leases, err = workerlist.Leases(t.Context(), db); err != nil || leases[0].Left < reach-time.Minute {
			t.Errorf("lease = %+v, %v, want the later end kept", leases[0], err)
		}
	})
}

// TestPlanRestore: PlanRestore changes nothing and says what the tables have. Restore refuses numbers
// that are out of range, and leaves out a table that does not exist.
func TestPlanRestore(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		db := d.connect(t, d.migrated(t))
		for range 3 {
			if _, err := workernode.Leased(db, nil).Assign(t.Context(), 1<<16-1); err != nil {
				t.Fatal(err)
			}
		}
		plan, err := workerlist.PlanRestore(t.Context(), db, 3, time.Hour, nil)
		if err != nil || plan.HighestNode != 3 || plan.Leases != 3 {
			t.Errorf("PlanRestore = %+v, %v, want 3 worker ids and 3 leases", plan, err)
		}
		if leases, err := workerlist.Leases(t.Context(), db); err != nil || leases[0].Owner == "" {
			t.Errorf("Leases = %+v, %v, want them as they were", leases, err)
		}
		for _, tt := range []struct {
			highest int64
			reach   time.Duration
			want    string
		}{
			{2, time.Hour, "want at least 3, which is in WORKER_LEASE"},
			{0, time.Hour, "the highest worker id is 0, want 1 to"},
			{3, -1, "the longest reach is -1ns, want 0 to"},
			{3, 1 << 62, "the longest reach is"},
		} {
			_, err := workerlist.Restore(t.Context(), db, tt.highest, tt.reach, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Restore(%d, %v) = %v, want an error with %q", tt.highest, tt.reach, err, tt.want)
			}
		}
		execAll(t, db, "DROP TABLE WORKER_LEASE")
		plan, err = workerlist.Restore(t.Context(), db, 10, time.Hour, nil)
		if err != nil || plan.Leases != 0 {
			t.Errorf("Restore without WORKER_LEASE = %+v, %v, want no leases and no error", plan, err)
		}
		if c, err := workernode.Disposable(db, nil).Assign(t.Context(), 1<<16-1); err != nil || c.Worker() != 11 {
			t.Errorf("Assign = %v, %v, want worker 11", c, err)
		}
	})
}
