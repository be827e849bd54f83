package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
)

// products are versions and comments of servers, from their sources and from bug reports.
var products = []struct {
	version, comment string
	want             sqldb.Product
}{
	{"5.6.24", "MySQL Community Server (GPL)", sqldb.MySQL},
	{"8.4.3", "MySQL Community Server - GPL", sqldb.MySQL},
	{"10.11.14-MariaDB-0+deb12u2", "Debian 12", sqldb.MariaDB},
	{"5.5.5-10.6.12-MariaDB-log", "MariaDB Server", sqldb.MariaDB},
	{"8.0.36-28", "Percona Server (GPL), Release 28, Revision 47601f19", sqldb.Percona},
	{"8.0.36-28.1", "Percona XtraDB Cluster (GPL), Release rel28, Revision bfb687f", sqldb.Percona},
	{"8.0.11-TiDB-v7.5.0", "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible", sqldb.TiDB},
	{"5.7.25-OceanBase-v4.2.1.0", "OceanBase 4.2.1.0 (r100000102023092807)", sqldb.OceanBase},
	{"5.6.29-PXC-5.4.19-SNAPSHOT", "", sqldb.PolarDB},
	{"5.6.29-TDDL-5.4.12-16327949", "", sqldb.PolarDB},
	{"8.0.32", "PolarDB-X 2.4", sqldb.PolarDB},
	{"8.0.30-MatrixOne-v1.1.1", "MatrixOne", sqldb.MatrixOne},
	{"8.0.33", "Dolt", sqldb.Dolt},
	{"5.7.9-Vitess", "Dolt", sqldb.Dolt},
	{"8.0.30-Vitess", "Version: 19.0.4", sqldb.Vitess},
}

func TestProductOf(t *testing.T) {
	t.Parallel()
	for _, p := range products {
		if got := sqldb.ProductOf(p.version, p.comment); got != p.want {
			t.Errorf("ProductOf(%q, %q) = %s, want %s", p.version, p.comment, got, p.want)
		}
	}
}

// TestLosesUpdates: on Dolt and Doltgres, and on no other product, ids could repeat.
func TestLosesUpdates(t *testing.T) {
	t.Parallel()
	for _, p := range []sqldb.Product{
		sqldb.MySQL, sqldb.MariaDB, sqldb.Percona, sqldb.TiDB, sqldb.OceanBase, sqldb.PolarDB, sqldb.MatrixOne,
		sqldb.Vitess, sqldb.Postgres, sqldb.SQLite,
	} {
		if p.LosesUpdates() {
			t.Errorf("%s loses updates", p)
		}
	}
	for _, p := range []sqldb.Product{sqldb.Dolt, sqldb.Doltgres} {
		if !p.LosesUpdates() {
			t.Errorf("%s does not lose updates", p)
		}
	}
}

// TestStrictAsks: a strict Do runs nothing on a server that has not said which product it is. It
// asks until it has an answer, and then no more. PostgreSQL is not asked for Dolt's version.
func TestStrictAsks(t *testing.T) {
	t.Parallel()
	for dialect, tt := range map[string]struct {
		row  []driver.Value
		asks string
	}{
		"mysql":    {[]driver.Value{"8.4.3", ""}, "SELECT VERSION(), @@version_comment"},
		"postgres": {[]driver.Value{"PostgreSQL 18.4 on x86_64-pc-linux-gnu"}, "SELECT VERSION()"},
	} {
		silent, asked := true, ""
		s := &script{answer: func(query string) (reply, bool) {
			if !strings.HasPrefix(query, "SELECT") {
				return reply{}, false
			}
			asked += query
			if silent {
				return reply{err: errBoom}, true
			}
			return reply{row: tt.row}, true
		}}
		d, _ := s.open(t, dialect, nil)
		d = d.Strict()
		do := func() (_ string, called bool, err error) {
			asked = ""
			err = d.Do(t.Context(), func(*sqldb.Conn) error { called = true; return nil })
			return asked, called, err
		}
		for range 2 {
			if asked, called, err := do(); asked != tt.asks || called || !errors.Is(err, errBoom) {
				t.Errorf("%s: Do = %v after %q, f called: %v; want the error of %q, and no call",
					dialect, err, asked, called, tt.asks)
			}
		}
		silent = false
		for _, want := range []string{tt.asks, "", ""} {
			if asked, called, err := do(); asked != want || !called || err != nil {
				t.Errorf("%s: Do = %v after %q, f called: %v; want success after %q", dialect, err, asked, called, want)
			}
		}
	}
}

// TestStrict: a server that identifies itself as a product which loses updates is refused, without
// another attempt. No other server is.
func TestStrict(t *testing.T) {
	t.Parallel()
	try := func(dialect string, g greeter, want sqldb.Product) {
		t.Helper()
		pool := sql.OpenDB(g)
		defer pool.Close()
		d, err := sqldb.Open("tester", pool, dialect, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		do := func(d *sqldb.DB) error {
			return d.Retry(t.Context(), "testing", func(ctx context.Context) error {
				return d.Do(ctx, func(*sqldb.Conn) error { calls++; return nil })
			})
		}
		if err := do(d); err != nil || calls != 1 {
			t.Errorf("Do on %s = %v after %d calls, want success", want, err, calls)
		}
		err = do(d.Strict())
		if want.LosesUpdates() != (err != nil) || want.LosesUpdates() != (calls == 1) {
			t.Errorf("a strict Do on %s = %v after %d calls, want an error and no call: %v",
				want, err, calls-1, want.LosesUpdates())
		}
		if err != nil && (!strings.HasPrefix(err.Error(), "tester: ") || !strings.Contains(err.Error(), string(want))) {
			t.Errorf("a strict Do on %s = %v, want the tester's error with the name", want, err)
		}
	}
	for _, p := range products {
		try("mysql", greeter{p.version, p.comment}, p.want)
	}
	try("postgres", greeter{"PostgreSQL 15.14 (Debian 15.14-0+deb12u1) on x86_64-pc-linux-gnu, " +
		"compiled by gcc", ""}, sqldb.Postgres)
	try("postgres", greeter{"PostgreSQL 15.5", ""}, sqldb.Postgres)
	try("postgres", greeter{"PostgreSQL 15.5", "Dolt"}, sqldb.Doltgres)
	try("sqlite", greeter{}, sqldb.SQLite)
}

// TestProduct: a real server is identified correctly.
func TestProduct(t *testing.T) {
	t.Parallel()
	srv, name := table(t)
	d, _ := open(t, srv.DSN(name))
	version := srv.Query(t, "", "SELECT VERSION()")
	want := sqldb.MySQL
	if strings.Contains(version, "MariaDB") {
		want = sqldb.MariaDB
	}
	var got sqldb.Product
	err := d.Do(t.Context(), func(c *sqldb.Conn) (err error) { got, err = c.Product(t.Context()); return err })
	if err != nil || got != want {
		t.Errorf("Product = %s, %v, want %s", got, err, want)
	}
}

// greeter is a server that only answers with its version and comment.
type greeter [2]string

func (g greeter) Connect(context.Context) (driver.Conn, error) { return g, nil }
func (g greeter) Driver() driver.Driver                        { return nil }
func (g greeter) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (g greeter) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (g greeter) Close() error                                 { return nil }
func (g greeter) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(0), nil
}
func (g greeter) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	switch {
	case strings.Contains(query, "@@version_comment"):
		return &greeting{values: g[:]}, nil
	case strings.Contains(query, "DOLT") && g[1] == "":
		return nil, errors.New("no such function")
	}
	return &greeting{values: g[:1]}, nil
}

// greeting is a result of one row.
type greeting struct{ values []string }

func (r *greeting) Close() error      { return nil }
func (r *greeting) Columns() []string { return make([]string, len(r.values)) }
func (r *greeting) Next(dest []driver.Value) error {
	for i := range dest {
		if len(r.values) == 0 {
			return io.EOF
		}
		dest[i], r.values = r.values[0], r.values[1:]
	}
	return nil
}
