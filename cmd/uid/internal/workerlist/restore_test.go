package workerlist_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
)

// emptyTables is a server whose tables have no rows.
var emptyTables = script{"SELECT MAX(ID)": {nil}, "SELECT COUNT(*), MAX(": {int64(0), nil},
	"SELECT NAMESPACE, LAYOUT": {}}

// TestRestorePage: the statements of sql/README.md are those of RestorePlan, in their order,
// on each kind of database.
func TestRestorePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../sql/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, title := range map[string]string{"mysql": "MySQL and MariaDB", "postgres": "PostgreSQL",
		"sqlite": "SQLite"} {
		_, rest, _ := strings.Cut(string(page), "\nOn "+title+":\n\n```sql\n")
		want, _, _ := strings.Cut(rest, ";\n```\n")
		// The page's numbers.
		plan, err := workerlist.PlanRestore(t.Context(), open(t, emptyTables, name), 5000, 25*time.Minute, nil)
		if got := strings.Join(plan.Statements, ";\n"); got != want || err != nil {
			t.Errorf("%s: PlanRestore has\n%s\nwith %v, the page has\n%s", name, got, err, want)
		}
	}
}

// TestRestoreBounds: a number that is out of range is refused by name, and the last one that is in
// range is not.
func TestRestoreBounds(t *testing.T) {
	t.Parallel()
	db := open(t, emptyTables, "sqlite")
	const longest = 2 * 366 * 24 * time.Hour
	for _, tt := range []struct {
		highest int64
		reach   time.Duration
		want    string // empty: accepted
	}{
		{1, 0, ""},
		{math.MaxInt64 - 1, longest, ""},
		{0, 0, "the highest worker id is 0, want 1 to 9223372036854775806"},
		{-1, 0, "the highest worker id is -1, want 1 to"},
		{math.MaxInt64, 0, "the highest worker id is 9223372036854775807, want 1 to"},
		{1, -1, "the longest reach is -1ns, want 0 to 17568h0m0s"},
		{1, longest + 1, "the longest reach is 17568h0m0.000000001s, want 0 to"},
	} {
		plan, err := workerlist.PlanRestore(t.Context(), db, tt.highest, tt.reach, nil)
		if tt.want != "" {
			wantError(t, err, tt.want)
		} else if err != nil || len(plan.Statements) != 3 {
			t.Errorf("PlanRestore(%d, %v) = %+v, %v, want 3 statements", tt.highest, tt.reach, plan, err)
		}
	}
}

// TestPlanRestore: PlanRestore says what the tables have and changes nothing. Restore refuses numbers
// that are out of range, or would hand out keys that have leases, and does without a table that is
// missing.
func TestPlanRestore(t *testing.T) {
	onEach(t, func(t *testing.T, fresh func(testing.TB) *gorm.DB) {
		db := fresh(t)
		nodes, all := 1, 3 // statements
		if db.Name() == "postgres" {
			nodes, all = 2, 4 // its sequence
		}
		assign(t, workernode.Leased(db, nil), 3)
		// A worker id of a namespace that counts for itself is no key of WORKER_NODE.
		assign(t, workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", First: 100}), 1)
		rows := func() []workerlist.Lease {
			t.Helper()
			leases, err := workerlist.Leases(t.Context(), db)
			if err != nil || len(leases) != 4 || leases[0].Owner == "" {
				t.Fatalf("Leases = %+v, %v, want 4 with owners", leases, err)
			}
			for i := range leases {
				leases[i].Left = 0 // it goes down
			}
			return leases
		}
		before := rows()
		plan, err := workerlist.PlanRestore(t.Context(), db, 3, time.Hour, nil)
		if err != nil || plan.HighestNode != 3 || plan.Leases != 4 || len(plan.Statements) != all {
			t.Errorf("PlanRestore = %+v, %v, want the highest worker id 3, 4 leases and %d statements",
				plan, err, all)
		}
		for _, tt := range []struct {
			highest int64
			reach   time.Duration
			want    string
		}{
			{2, time.Hour, "the highest worker id is 2, want at least 3, which is in WORKER_LEASE"},
			{0, time.Hour, "the highest worker id is 0, want 1 to"},
			{3, -1, "the longest reach is -1ns, want 0 to"},
			{3, 1 << 62, "the longest reach is"},
		} {
			_, err := workerlist.Restore(t.Context(), db, tt.highest, tt.reach, nil)
			wantError(t, err, tt.want)
		}
		if after := rows(); !slices.Equal(after, before) {
			t.Errorf("the rows are %+v, want %+v as before", after, before)
		}

		execAll(t, db, "DROP TABLE WORKER_LEASE")
		plan, err = workerlist.Restore(t.Context(), db, 10, time.Hour, nil)
		if err != nil || plan.Leases != 0 || len(plan.Statements) != nodes {
			t.Errorf("Restore without WORKER_LEASE = %+v, %v, want no leases and %d statements", plan, err, nodes)
		}
		if c := assign(t, workernode.Disposable(db, nil), 1)[0]; c.Worker() != 11 {
			t.Errorf("worker = %d, want 11, above the highest", c.Worker())
		}
		execAll(t, db, "DROP TABLE WORKER_NODE")
		_, err = workerlist.Restore(t.Context(), db, 10, time.Hour, nil)
		wantError(t, err, "WORKER_NODE", "workernode.Migrate")
	})
}

// TestRestoredReach: after Restore with a reach beyond that of the namespace, a process that starts
// gets a window at the floor.
func TestRestoredReach(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	const layout, reach = "40-16-5-0/10ms@2026-01-01T00:00:00Z", 25 * time.Hour
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}).BindLayout(layout)
	assign(t, a, 1)
	if _, err := workerlist.Restore(t.Context(), db, 1, reach, map[string]string{"": layout}); err != nil {
		t.Fatal(err)
	}
	c, err := a.Assign(within(t, 5*time.Second), maxWorker)
	if err != nil {
		t.Fatal(err)
	}
	if from, _ := c.Window(); time.Until(from) < reach-time.Hour {
		t.Errorf("the window begins at %v, want it behind the floor, %v from now", from, reach)
	}
}

// TestRestoredReachKept: Restore raises the reach of a namespace that has a shorter one, also where
// claims name no layout, and leaves one that is long enough.
func TestRestoredReachKept(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"", "40-16-5-0/10ms@2026-01-01T00:00:00Z"} {
		for stored, want := range map[time.Duration]time.Duration{
			time.Hour: 3 * time.Hour, 3 * time.Hour: 3 * time.Hour, 5 * time.Hour: 5 * time.Hour, 0: 0,
		} {
			t.Run(fmt.Sprintf("%q %v", layout, stored), func(t *testing.T) {
				t.Parallel()
				srv, name := maria(t)
				db := connect(t, srv.DSN(name))
				a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", Reach: time.Hour})
				assign(t, a.BindLayout(layout), 1)
				const header = "FROM WORKER_LEASE WHERE NAMESPACE = 'orders' AND WORKER_ID = -1"
				srv.Query(t, name, fmt.Sprintf("UPDATE WORKER_LEASE SET UNTIL_MS = %d "+
					"WHERE NAMESPACE = 'orders' AND WORKER_ID = -1", stored.Milliseconds()))
				lists := map[string]string{}
				if layout != "" {
					lists[""] = layout
				}
				if _, err := workerlist.Restore(t.Context(), db, 1, 3*time.Hour, lists); err != nil {
					t.Fatal(err)
				}
				if got := srv.Query(t, name, "SELECT UNTIL_MS, LAYOUT "+header); got != fmt.Sprintf("%d\t%s",
					want.Milliseconds(), layout) {
					t.Errorf("the header is %q, want the reach %d and the layout %q", got, want.Milliseconds(), layout)
				}
			})
		}
	}
}
