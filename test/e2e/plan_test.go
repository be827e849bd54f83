package e2e

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// The sizes of the tables in TestPlans and TestPlansElsewhere. The files in results were written
// with -plan.leases=100000 -plan.nodes=4000000.
var (
	planLeases = flag.Int("plan.leases", 20_000, "leases that are held")
	planNodes  = flag.Int("plan.nodes", 50_000, "rows of WORKER_NODE")
	planOut    = flag.String("plan.out", "",
		"write the plans on MariaDB to this file, and those on the others to files named after it")
)

// TestPlans: in tables with many held leases and many disposable worker ids no statement of a start
// reads more than a few rows, whether Leased finds a free row or makes a new one, or Disposable takes
// a worker id.
func TestPlans(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnMySQL(t, "rows by common table expressions")
	srv := dbtest.MariaDB(t, "--innodb-buffer-pool-size=256M", "--log-output=TABLE")
	name := srv.CreateDB(t)
	db := dialects[0].connect(t, srv.DSN(name))
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	numbers := "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
	starts := planStarts(t, db)
	srv.Query(t, name, fmt.Sprintf("SET SESSION max_recursive_iterations = 10000000; "+
		"INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) "+
		numbers+"SELECT 'h', i, 2, '2026-01-01' FROM n", *planNodes))
	until := time.Now().Add(time.Hour).UnixMilli()
	for _, ns := range []string{"default", "orders"} {
		srv.Query(t, name, fmt.Sprintf("SET SESSION max_recursive_iterations = 10000000; INSERT INTO WORKER_LEASE "+
			"(NAMESPACE, WORKER_ID, GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT) "+numbers+
			"SELECT '%s', i + 2, 1, i, 'x', %d + i, '' FROM n", *planLeases, ns, until))
	}
	srv.Query(t, name, "UPDATE WORKER_LEASE SET UNTIL_MS = 5 WHERE NAMESPACE = 'default' AND WORKER_ID = 1")
	srv.Query(t, name, "ANALYZE TABLE WORKER_LEASE, WORKER_NODE")

	var report strings.Builder
	fmt.Fprintf(&report, "%d leases held in each namespace, %d rows of WORKER_NODE\n", *planLeases, *planNodes)
	for _, s := range starts {
		srv.Exec(t, "SET GLOBAL general_log = 0", "TRUNCATE mysql.general_log", "SET GLOBAL general_log = 1")
		before := rowsRead(t, srv)
		if _, err := s.a.Assign(t.Context(), 1<<22-1); err != nil {
			t.Fatal(err)
		}
		read := rowsRead(t, srv) - before
		srv.Exec(t, "SET GLOBAL general_log = 0")
		log := srv.Query(t, "mysql", "SELECT REPLACE(REPLACE(argument, '\\n', ' '), '\\t', ' ') FROM general_log "+
			"WHERE command_type = 'Query' AND argument REGEXP '^(SELECT|UPDATE|INSERT)' "+
			"AND argument LIKE '%WORKER\\_%'")
		fmt.Fprintf(&report, "\n%s: %d rows read\n", s.name, read)
		if read > 200 {
			t.Errorf("%s: %d rows read, want at most 200", s.name, read)
		}
		for statement := range strings.Lines(log) {
			plan := srv.Query(t, name, "EXPLAIN "+statement)
			fmt.Fprintf(&report, "%s%s\n", statement, plan)
			for row := range strings.Lines(plan) {
				// id, select_type, table, type, possible_keys, key, ...
				if f := strings.Split(row, "\t"); len(f) > 5 && (f[3] == "ALL" && f[1] != "INSERT" || f[3] == "index") {
					t.Errorf("%s: a scan:\n%s%s", s.name, statement, plan)
				}
			}
		}
	}
	t.Log(report.String())
	if *planOut != "" {
		if err := os.WriteFile(*planOut, []byte(report.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// planStart is the start of a process whose statements are explained.
type planStart struct {
	name string
	a    assigner.Assigner
}

// planStarts returns the starts on db, in their order. It first claims a worker id in each namespace,
// which makes the namespace's header.
func planStarts(t *testing.T, db *gorm.DB) []planStart {
	t.Helper()
	leased := func(ns string) assigner.Assigner {
		return workernode.Leased(db, &workernode.LeasedOptions{Namespace: ns})
	}
	for _, ns := range []string{"default", "orders"} {
		if _, err := leased(ns).Assign(t.Context(), 1<<22-1); err != nil {
			t.Fatal(err)
		}
	}
	return []planStart{
		{"a free row", leased("default")},
		{"a new row", leased("default")},
		{"a new row in a namespace of its own", leased("orders")},
		{"Disposable", workernode.Disposable(db, nil)},
	}
}

// rowsRead returns how many rows the server has read so far.
func rowsRead(t *testing.T, srv *dbtest.Server) (n int64) {
	t.Helper()
	text := srv.Query(t, "", "SHOW GLOBAL STATUS LIKE 'Rows_read'")
	if _, err := fmt.Sscanf(text, "Rows_read %d", &n); err != nil {
		t.Fatalf("Rows_read is %q: %v", text, err)
	}
	return n
}
