package workernode_test

import (
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqldb"
)

// TestKeysOnce: an Assigner looks for the keys of its tables at its first Assign, whatever layout it
// is bound to, and refuses a table that has lost them as long as it has.
func TestKeysOnce(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	looks := 0
	db := intercept(t, &dbtest.Interceptor{
		Connectors: connectors(t, srv.DSN(name)),
		Seen: func(query string, _ []driver.NamedValue) {
			if strings.HasPrefix(query, "SHOW KEYS") {
				looks++
			}
		},
	})
	const text = "27-22-14-0/1s@2026-01-01T00:00:00Z"
	for kind, want := range map[string]struct {
		a     assigner.Assigner
		looks int
	}{
		"Leased": {workernode.Leased(db, nil), 2}, "Disposable": {workernode.Disposable(db, nil), 1},
		"namespace": {workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"}), 1},
	} {
		looks = 0
		assign(t, want.a, 3)
		if b, ok := want.a.(assigner.LayoutBinder); ok && kind == "namespace" {
			_, _ = b.BindLayout(text).Assign(t.Context(), maxWorker)
		}
		if looks != want.looks {
			t.Errorf("%s looks %d times, want %d", kind, looks, want.looks)
		}
	}
	srv.Query(t, name, "ALTER TABLE WORKER_LEASE DROP PRIMARY KEY")
	a := workernode.Leased(db, nil)
	for range 2 {
		_, err := a.Assign(t.Context(), maxWorker)
		wantError(t, err, "WORKER_LEASE has no primary or unique key on (NAMESPACE, WORKER_ID)",
			"then: CREATE UNIQUE INDEX WORKER_LEASE_key ON WORKER_LEASE (NAMESPACE, WORKER_ID)")
		if !errors.Is(err, sqldb.ErrUnfit) {
			t.Errorf("error %v, want ErrUnfit", err)
		}
	}
	srv.Query(t, name, "CREATE UNIQUE INDEX WORKER_LEASE_key ON WORKER_LEASE (NAMESPACE, WORKER_ID)")
	assign(t, a, 1)
}

// TestKeysDisposable: Disposable makes no row where the key of WORKER_NODE is no primary key any more.
func TestKeysDisposable(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	srv.Query(t, name, "ALTER TABLE WORKER_NODE DROP PRIMARY KEY, ADD KEY (ID)")
	_, err := workernode.Disposable(connect(t, srv.DSN(name)), nil).Assign(t.Context(), maxWorker)
	wantError(t, err, "WORKER_NODE has no primary or unique key on (ID)")
	if n := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); n != "0" {
		t.Errorf("rows: %s, want none", n)
	}
}

// TestKeysUnprivileged: the rights that claims need are enough to see the keys.
func TestKeysUnprivileged(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	user := "keys_" + name
	srv.Exec(t, "CREATE USER "+user+"@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE ON "+name+".WORKER_LEASE TO "+user+"@'%'",
		"GRANT SELECT, INSERT ON "+name+".WORKER_NODE TO "+user+"@'%'")
	dsn := user + ":" + dbtest.Password + "@tcp(" + srv.Addr() + ")/" + name
	assign(t, workernode.Leased(connect(t, dsn), nil), 1)
	srv.Query(t, name, "ALTER TABLE WORKER_LEASE DROP PRIMARY KEY")
	_, err := workernode.Leased(connect(t, dsn), nil).Assign(t.Context(), maxWorker)
	wantError(t, err, "WORKER_LEASE has no primary or unique key")
}
