package workernode_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

// TestMigrateUnprivileged: an account that may not create tables migrates if they exist, and is
// told what it lacks if not.
func TestMigrateUnprivileged(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	empty := srv.CreateDB(t)
	user := "least_" + name
	srv.Exec(t, "CREATE USER "+user+"@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE ON "+name+".* TO "+user+"@'%'",
		"GRANT SELECT, INSERT, UPDATE ON "+empty+".* TO "+user+"@'%'")
	as := func(db string) *gorm.DB { return connect(t, user+":"+dbtest.Password+"@tcp("+srv.Addr()+")/"+db) }
	if err := workernode.Migrate(t.Context(), as(name)); err != nil {
		t.Errorf("Migrate where the tables exist: %v", err)
	}
	wantError(t, workernode.Migrate(t.Context(), as(empty)), "denied", "CREATE for Migrate")
}

// TestMigrateIndex: a table of an earlier version gets the index that finds free rows, and keeps
// its rows.
func TestMigrateIndex(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	assign(t, workernode.Leased(db, nil), 1)
	srv.Query(t, name, "DROP INDEX WORKER_LEASE_FREE ON WORKER_LEASE")
	for range 2 {
		if err := workernode.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if got := srv.Query(t, name, "SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX), (SELECT COUNT(*) "+
			"FROM WORKER_LEASE) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND "+
			"INDEX_NAME = 'WORKER_LEASE_FREE'"); got != "NAMESPACE,UNTIL_MS\t2" {
			t.Errorf("the index's columns and the number of rows = %q, want NAMESPACE,UNTIL_MS and 2", got)
		}
	}
}
