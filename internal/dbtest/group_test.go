package dbtest_test

import (
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestGroups: what was committed is there after a fail-over, and the old primary comes back: as a
// replica, but where all servers can be written to.
func TestGroups(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *dbtest.Group{
		"group replication": func(tb testing.TB) *dbtest.Group { return dbtest.GroupReplication(tb, false) },
		"several primaries": func(tb testing.TB) *dbtest.Group { return dbtest.GroupReplication(tb, true) },
		"semi-synchronous":  dbtest.SemiSync,
		"standbys":          dbtest.Standbys,
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			old := g.Primary()
			db := old.CreateDB(t)
			old.Query(t, db, "CREATE TABLE T (N BIGINT PRIMARY KEY)")
			old.Query(t, db, "INSERT INTO T VALUES (7)")
			if err := old.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := g.FailOver(); err != nil {
				t.Fatal(err)
			}
			if got := g.Primary().Query(t, db, "SELECT N FROM T"); g.Primary() == old || got != "7" {
				t.Errorf("after the fail-over the table has %q, want 7 on another server", got)
			}
			g.Primary().Query(t, db, "INSERT INTO T VALUES (8)")
			if err := g.Rejoin(old); err != nil {
				t.Fatal(err)
			}
			g.Primary().Query(t, db, "INSERT INTO T VALUES (9)")
			_, err := old.TryQuery(db, "INSERT INTO T VALUES (10)")
			if several := name == "several primaries"; (err == nil) != several {
				t.Errorf("a change of the old primary = %v, want success: %v", err, several)
			}
		})
	}
}
