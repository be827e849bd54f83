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
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqldb"
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

// TestRowsDenied: a claim does not take a row that it could not read for none.
func TestRowsDenied(t *testing.T) {
	t.Parallel()
	denied := &mysqldriver.MySQLError{Number: 1142, Message: "SELECT command denied"}
	db := script{"SELECT LAYOUT, NONCE": {"", int64(1), int64(0), "", int64(1 << 40), int64(1), nil},
		"VERSION()": {"8.0.33", "MySQL"}, "SELECT WORKER_ID, GENERATION": {},
		"SELECT WORKER_ID FROM": {denied}}.open(t, "mysql")
	a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "own"})
	c, err := a.Assign(within(t, 5*time.Second), maxWorker)
	if wantError(t, err, denied.Message); err == nil {
		t.Errorf("Assign = %v, want an error", c)
	}
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
