package sqlstore_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
)

var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// open opens a database.
func open(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	c, err := dbtest.Connector(mysqldriver.MySQLDriver{}, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(c)
	tb.Cleanup(func() { db.Close() })
	return db
}

// tables returns the DSN of a database of the test's own with the tables in it.
func tables(tb testing.TB) string {
	tb.Helper()
	srv := servers.MariaDB(tb)
	dsn := srv.DSN(srv.CreateDB(tb))
	db := open(tb, dsn)
	for range 2 { // the second time the tables exist
		if err := sqlstore.Migrate(tb.Context(), db, "mysql", nil); err != nil {
			tb.Fatal(err)
		}
	}
	return dsn
}

// start returns an Assigner as a process of its own has it.
func start(tb testing.TB, dsn, namespace string, o *lease.Options) assigner.Assigner {
	tb.Helper()
	s, err := sqlstore.New(open(tb, dsn), "mysql", &sqlstore.Options{Namespace: namespace})
	if err != nil {
		tb.Fatal(err)
	}
	a, err := lease.New(s, o)
	if err != nil {
		return assignertest.Refused(err)
	}
	return a
}

// TestConformance runs the suite on a *sql.DB, in both kinds of namespaces.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			f := assignertest.Factory{
				Authority: func(tb testing.TB) func() assigner.Assigner {
					dsn := tables(tb)
					return func() assigner.Assigner { return start(tb, dsn, namespace, nil) }
				},
			}
			if namespace != workertable.DefaultNamespace {
				f.Ranges = func(tb testing.TB) func(first, last int64) assigner.Assigner {
					dsn := tables(tb)
					return func(first, last int64) assigner.Assigner {
						return start(tb, dsn, namespace, &lease.Options{First: first, Last: last})
					}
				}
			}
			assignertest.Run(t, f)
		})
	}
}

// TestEntries: a row is the entry that was put, and List, Get, Look and Latest show the same one.
func TestEntries(t *testing.T) {
	t.Parallel()
	dsn := tables(t)
	if _, err := start(t, dsn, "orders", &lease.Options{Owner: "a"}).Assign(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(open(t, dsn), "mysql", &sqlstore.Options{Namespace: "orders", Place: "over there"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `WORKER_LEASE, namespace "orders", over there`; fmt.Sprint(s) != want {
		t.Errorf("String = %q, want %q", s, want)
	}
	ctx := t.Context()
	slot, err := s.Get(ctx, "slot-0")
	if err != nil || slot.Version == "" || !strings.Contains(string(slot.Value), `"owner":"a"`) ||
		time.Since(slot.At).Abs() > time.Minute {
		t.Fatalf("Get = %+v, %v", slot, err)
	}
	header, err := s.Get(ctx, "header")
	if err != nil || header.Version == "" {
		t.Fatalf("Get of the header = %+v, %v", header, err)
	}
	if e, err := s.Get(ctx, "slot-1"); err != nil || e.Version != "" || e.At.IsZero() {
		t.Errorf("Get of no row = %+v, %v, want the time alone", e, err)
	}
	all, err := s.List(ctx)
	if err != nil || len(all) != 2 || all[0].Version != header.Version || all[1].Version != slot.Version {
		t.Errorf("List = %+v, %v, want the header and the slot", all, err)
	}
	latest, err := s.(lease.Index).Latest(ctx)
	if err != nil || latest.Version != slot.Version || string(latest.Value) != string(slot.Value) {
		t.Errorf("Latest = %+v, %v, want %+v", latest, err, slot)
	}
	for _, reserved := range []bool{false, true} {
		h, slots, err := s.(lease.Index).Look(ctx, lease.Query{Last: 7, Limit: 9, Reserved: reserved})
		if err != nil || h.Version != header.Version || len(slots) == 1 != reserved {
			t.Errorf("Look = %+v, %+v, %v, want the slot: %v", h, slots, err, reserved)
		}
	}
}

// TestNoGORM: a program that uses the package links no GORM.
func TestNoGORM(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		if strings.HasPrefix(path, "gorm.io/") {
			t.Errorf("imports %s", path)
		}
	}
}
