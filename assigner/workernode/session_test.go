package workernode_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/workernode"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// TestSessions: a session that would take a claim back with its connection, or see what is not committed, gets none, and nothing
// is written.
func TestSessions(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	for _, tt := range []struct{ params, want string }{
		{"autocommit=0", "autocommit is OFF, want ON"},
		{"tx_isolation='READ-UNCOMMITTED'", "tx_isolation is READ-UNCOMMITTED, want READ-COMMITTED or higher"},
		{"tx_isolation='READ-COMMITTED'", ""},
		{"tx_isolation='SERIALIZABLE'", ""},
	} {
		t.Run(tt.params, func(t *testing.T) {
			db, err := gorm.Open(mysql.Open(srv.DSN(name)+"&"+tt.params), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			before := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE")
			for kind, a := range assigners(db) {
				_, err := a.Assign(t.Context(), maxWorker)
				if tt.want != "" {
					wantError(t, err, tt.want, srv.Addr())
				} else if err != nil {
					t.Errorf("%s: Assign: %v", kind, err)
				}
			}
			if after := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); tt.want != "" && after != before {
				t.Errorf("rows of WORKER_NODE = %s after refusals, want %s as before", after, before)
			}
		})
	}
}

// TestOpenMySQLCommits: what the DSN says of autocommit does not count: a worker id outlives the connection that took it.
func TestOpenMySQLCommits(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name)+"&autocommit=0")
	one := assign(t, workernode.Leased(db, nil), 1)[0]
	if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != "1" {
		t.Errorf("rows of worker %d that others see = %s, want 1", one.Worker(), got)
	}
}
