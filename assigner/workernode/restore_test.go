package workernode_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workerlist"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// script is a server that answers a query with one row, none, or an error in its place, by a text
// in the query. It has no tables: other queries and every INSERT fail, and what else changes rows
// changes none.
type script map[string][]driver.Value

var errNoTable = &mysqldriver.MySQLError{Number: 1146, Message: "Table doesn't exist"}

func (s script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s script) Driver() driver.Driver                        { return nil }
func (s script) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (s script) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (s script) Close() error                                 { return nil }

func (s script) ExecContext(_ context.Context, query string,
	_ []driver.NamedValue) (driver.Result, error) {
	if strings.HasPrefix(query, "INSERT") {
		return nil, errNoTable
	}
	if values := s["UPDATE"]; values != nil && strings.HasPrefix(query, "UPDATE") {
		return nil, values[0].(error)
	}
	return driver.RowsAffected(0), nil
}

func (s script) QueryContext(_ context.Context, query string,
	_ []driver.NamedValue) (driver.Rows, error) {
	for text, values := range s {
		if strings.Contains(query, text) {
			if len(values) == 1 {
				if err, ok := values[0].(error); ok {
					return nil, err
				}
			}
			return &scripted{values, len(values) == 0}, nil
		}
	}
	return nil, errNoTable
}

// scripted is a result of one row.
type scripted struct {
	values []driver.Value
	read   bool
}

func (r *scripted) Columns() []string { return make([]string, len(r.values)) }
func (r *scripted) Close() error      { return nil }

func (r *scripted) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read = true
	copy(dest, r.values)
	return nil
}

// dialect is a dialector with the name of another one.
type dialect struct {
	gorm.Dialector
	name string
}

func (d dialect) Name() string { return d.name }

// open opens a pool of the server as a database of a dialect.
func (s script) open(t *testing.T, name string) *gorm.DB {
	t.Helper()
	p := sql.OpenDB(s)
	t.Cleanup(func() { p.Close() })
	db, err := gorm.Open(dialect{mysql.New(mysql.Config{Conn: p, SkipInitializeWithVersion: true}), name},
		&gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// emptyTables is a server whose tables have no rows.
var emptyTables = script{"SELECT MAX(ID)": {nil}, "SELECT COUNT(*), MAX(": {int64(0), nil},
	"SELECT NAMESPACE, LAYOUT": {}}

// TestRestorePage: the statements of sql/README.md are those of RestorePlan, in their order,
// on each kind of database.
func TestRestorePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../sql/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, title := range map[string]string{"mysql": "MySQL and MariaDB", "postgres": "PostgreSQL",
		"sqlite": "SQLite"} {
		_, rest, _ := strings.Cut(string(page), "\nOn "+title+":\n\n```sql\n")
		want, _, _ := strings.Cut(rest, ";\n```\n")
		// The page's numbers.
		plan, err := workerlist.PlanRestore(t.Context(), emptyTables.open(t, name), 5000, 25*time.Minute, nil)
		if got := strings.Join(plan.Statements, ";\n"); got != want || err != nil {
			t.Errorf("%s: PlanRestore has\n%s\nwith %v, the page has\n%s", name, got, err, want)
		}
	}
}

// TestRestoreBounds: a number that is out of range is refused by name, and the last one that is in
// range is not.
func TestRestoreBounds(t *testing.T) {
	t.Parallel()
	db := emptyTables.open(t, "sqlite")
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

// TestPlanRestore: PlanRestore says what the tables have and changes nothing. Restore refuses to
// hand out keys that have leases, and does without a table that is missing.
func TestPlanRestore(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	assign(t, workernode.Leased(db, nil), 3)
	// A worker id of a namespace that counts for itself is no key of WORKER_NODE.
	assign(t, workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", First: 100}), 1)
	const rows = "SELECT GROUP_CONCAT(WORKER_ID, ' ', GENERATION, ' ', UNTIL_MS) FROM WORKER_LEASE"
	before := srv.Query(t, name, rows)
	plan, err := workerlist.PlanRestore(t.Context(), db, 3, time.Hour, nil)
	if err != nil || plan.HighestNode != 3 || plan.Leases != 4 || len(plan.Statements) != 3 {
		t.Errorf("PlanRestore = %+v, %v, want the highest worker id 3, 4 leases and 3 statements", plan, err)
	}
	_, err = workerlist.Restore(t.Context(), db, 2, time.Hour, nil)
	wantError(t, err, "the highest worker id is 2, want at least 3, which is in WORKER_LEASE")
	if after := srv.Query(t, name, rows); after != before {
		t.Errorf("the rows are %q, want %q as before", after, before)
	}

	srv.Query(t, name, "DROP TABLE WORKER_LEASE")
	plan, err = workerlist.Restore(t.Context(), db, 10, time.Hour, nil)
	if err != nil || plan.Leases != 0 || len(plan.Statements) != 1 {
		t.Errorf("Restore without WORKER_LEASE = %+v, %v, want no leases and one statement", plan, err)
	}
	if c := assign(t, workernode.Disposable(db, nil), 1)[0]; c.Worker() != 11 {
		t.Errorf("worker = %d, want 11, above the highest", c.Worker())
	}
	srv.Query(t, name, "DROP TABLE WORKER_NODE")
	_, err = workerlist.Restore(t.Context(), db, 10, time.Hour, nil)
	wantError(t, err, "WORKER_NODE", "workernode.Migrate")
}

// TestLosesUpdates: a server that is known to lose updates is refused, unless the options allow it.
func TestLosesUpdates(t *testing.T) {
	t.Parallel()
	db := script{"VERSION()": {"8.0.33", "Dolt"}}.open(t, "mysql")
	for _, accept := range []bool{false, true} {
		for kind, a := range map[string]assigner.Assigner{
			"disposable": workernode.Disposable(db, &workernode.DisposableOptions{AcceptLostUpdates: accept}),
			"leased":     workernode.Leased(db, &workernode.LeasedOptions{AcceptLostUpdates: accept}),
		} {
			t.Run(fmt.Sprint(kind, " accepted ", accept), func(t *testing.T) {
				_, err := a.Assign(t.Context(), maxWorker)
				if errors.Is(err, sqldb.ErrUnfit) == accept {
					t.Errorf("Assign = %v, want it refused: %v", err, !accept)
				}
				if want := "set AcceptLostUpdates"; !accept {
					wantError(t, err, "Dolt", want)
				} else {
					wantError(t, err, "Table doesn't exist")
				}
			})
		}
	}
}

// TestRestoredNode: WORKER_NODE alone goes back. Leased passes over the worker ids that have a
// lease, and Disposable as well.
func TestRestoredNode(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	seen := map[int64]bool{}
	take := func(a assigner.Assigner) {
		t.Helper()
		for _, c := range assign(t, a, 2) {
			if seen[c.Worker()] {
				t.Errorf("worker %d is assigned, which is in use", c.Worker())
			}
			seen[c.Worker()] = true
		}
	}
	leased := workernode.Leased(db, &workernode.LeasedOptions{Logger: logger})
	take(leased)
	if log.Len() > 0 {
		t.Errorf("log = %q, want nothing", log.String())
	}
	srv.Query(t, name, "TRUNCATE TABLE WORKER_NODE")
	take(leased)
	wantLog(t, &log, "new worker id has a lease already and is left alone", "worker=1", "worker=2")
	srv.Query(t, name, "TRUNCATE TABLE WORKER_NODE")
	take(workernode.Leased(db, nil))
	srv.Query(t, name, "TRUNCATE TABLE WORKER_NODE")
	take(workernode.Disposable(db, &workernode.DisposableOptions{Logger: logger}))
	wantLog(t, &log, "new worker id has a lease already and is left alone", "worker=1", "worker=6")
}

// TestBadNode: half of a setting of the platform is an error before anything is used up, and so is
// a layout without worker ids. A layout that has none left says which key it got.
func TestBadNode(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db, half := connect(t, srv.DSN(name)), workernode.Machine{Env: env("JPAAS_HOST", "j")}
	for kind, a := range assigners(db) {
		_, err := a.Assign(t.Context(), -1)
		wantError(t, err, "highest worker id is -1")
		if kind == "leased" {
			a = workernode.LeasedOn(half, db, workernode.LeasedOptions{})
		} else {
			a = workernode.On(a, half)
		}
		_, err = a.Assign(t.Context(), maxWorker)
		wantError(t, err, `JPAAS_HOST is "j"`)
		if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != "0" {
			t.Errorf("%s: %s worker ids are used up, want 0", kind, got)
		}
	}
	_, err := workernode.Disposable(connect(t, srv.DSN(name)), nil).Assign(t.Context(), 0)
	wantError(t, err, "the new key of WORKER_NODE is 1, the layout's highest worker id is 0")
}

// TestInsertedOnce: an INSERT that is refused is not sent in another form.
func TestInsertedOnce(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	sent := 0
	db := intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Around: func(query string, run func() error) error {
			if !strings.HasPrefix(query, "INSERT INTO WORKER_NODE") {
				return run()
			}
			sent++
			return &mysqldriver.MySQLError{Number: 1142, Message: "INSERT command denied"}
		}})
	_, err := workernode.Disposable(db, nil).Assign(t.Context(), maxWorker)
	if wantError(t, err, "INSERT command denied"); sent != 1 {
		t.Errorf("the INSERT was sent %d times, want once", sent)
	}
}

// TestNames: an assigner names its table, the namespace, and the database, which tells those of two
// databases apart, and neither a user nor a password.
func TestNames(t *testing.T) {
	t.Parallel()
	db := script{}.open(t, "postgres")
	cfg, err := mysqldriver.ParseDSN("app:hunter2@tcp(db-1:3306)/ids")
	if err != nil {
		t.Fatal(err)
	}
	at, err := gorm.Open(mysql.New(mysql.Config{Conn: pool(t, db), DSNConfig: cfg,
		SkipInitializeWithVersion: true}), &gorm.Config{DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	for want, a := range map[string]assigner.Assigner{
		"WORKER_NODE":                                                          workernode.Disposable(nil, nil),
		"WORKER_NODE, postgres database":                                       workernode.Disposable(db, nil),
		`WORKER_NODE, mysql database "ids" at db-1:3306`:                       workernode.Disposable(at, nil),
		`WORKER_LEASE, namespace "default"`:                                    workernode.Leased(nil, nil),
		`WORKER_LEASE, namespace "default", mysql database "ids" at db-1:3306`: workernode.Leased(at, nil),
		`WORKER_LEASE, namespace "orders", postgres database`: workernode.Leased(db,
			&workernode.LeasedOptions{Namespace: "orders"}),
	} {
		if got := fmt.Sprint(a); got != want {
			t.Errorf("name = %q, want %q", got, want)
		}
	}
}
