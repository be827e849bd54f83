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
