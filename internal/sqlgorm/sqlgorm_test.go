package sqlgorm_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqlgorm"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

var errBoom = errors.New("boom")

// unconnected is a server that cannot be reached.
type unconnected struct{}

func (unconnected) Driver() driver.Driver                        { return nil }
func (unconnected) Connect(context.Context) (driver.Conn, error) { return nil, errBoom }

// named is a dialector with the name of another dialect.
type named struct {
	gorm.Dialector
	name string
}

func (n named) Name() string { return n.name }

// brokenPool is a pool that cannot say which *sql.DB it has.
type brokenPool struct{ gorm.ConnPool }

func (brokenPool) GetDBConn() (*sql.DB, error) { return nil, errBoom }

// openTx is a pool that is a transaction.
type openTx struct{ *sql.DB }

func (openTx) Commit() error   { return nil }
func (openTx) Rollback() error { return nil }

// TestOpenParts: a *gorm.DB that was put together by hand is used or refused like an opened one, and
// never panics.
func TestOpenParts(t *testing.T) {
	t.Parallel()
	pool := sql.OpenDB(unconnected{})
	defer pool.Close()
	dialector := mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true})
	good, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	config := func(d gorm.Dialector, p gorm.ConnPool) *gorm.Config {
		c := *good.Config
		c.Dialector, c.ConnPool = d, p
		return &c
	}
	for _, tt := range []struct {
		name string
		db   *gorm.DB
		want string // in the error; empty: none
	}{
		{"no dialector", &gorm.DB{Config: config(nil, pool)}, "db is nil or was not opened"},
		{"another dialect", &gorm.DB{Config: config(named{dialector, "oracle"}, pool)},
			`dialect is "oracle", want mysql, postgres or sqlite`},
		{"no statement", &gorm.DB{Config: config(dialector, pool)}, ""},
		{"a transaction, no statement", &gorm.DB{Config: config(dialector, openTx{pool})}, "db is a transaction"},
		{"a transaction, a statement without a pool",
			&gorm.DB{Config: config(dialector, openTx{pool}), Statement: &gorm.Statement{}}, "db is a transaction"},
		{"a broken pool", &gorm.DB{Config: config(dialector, brokenPool{pool})}, errBoom.Error()},
		{"a dialector without a configuration", &gorm.DB{Config: config(&mysql.Dialector{}, pool)}, ""},
	} {
		d, err := sqlgorm.Open("tester", tt.db, nil)
		if tt.want == "" {
			if err != nil || d.Place() != "mysql database" || d.Logger() != nil {
				t.Errorf("%s: Open = %v, want a mysql database without a logger", tt.name, err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), "tester: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Open = %v, want an error of the tester's with %q", tt.name, err, tt.want)
		}
	}
	l := slog.New(slog.DiscardHandler)
	if d, err := sqlgorm.Open("tester", good, l); err != nil || d.Logger() != l {
		t.Errorf("Open = %v, want a database with the logger", err)
	}
}

// TestOpen: a *gorm.DB through which no change can be committed is refused.
func TestOpen(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	name := srv.CreateDB(t)
	good, err := gorm.Open(mysql.Open(srv.DSN(name)), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := good.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	check := func(what string, db *gorm.DB, want string) {
		t.Helper()
		_, err := sqlgorm.Open("tester", db, nil)
		if want == "" && err == nil {
			return
		}
		if err == nil || !strings.HasPrefix(err.Error(), "tester: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error of the tester's with %q", what, err, want)
		}
	}
	check("nil", nil, "db is nil")
	check("zero", &gorm.DB{}, "was not opened")
	check("a transaction", good.Begin(), "is a transaction")
	check("a dry run", good.Session(&gorm.Session{DryRun: true}), "is a dry run")
	check("an error", good.Where("x = ?", 1).Table("NO_SUCH").First(&struct{}{}), "carries an error")
	check("prepared statements", good.Session(&gorm.Session{PrepareStmt: true}), "")
	check("the same", good, "")
	if err := good.Connection(func(tx *gorm.DB) error {
		check("a connection", tx, "has no *sql.DB but a *sql.Conn")
		return nil
	}); err != nil {
		t.Error(err)
	}
	prepared := good.Session(&gorm.Session{PrepareStmt: true}).Begin()
	check("a transaction with prepared statements", prepared, "is a transaction")
	cfg, err := mysqldriver.ParseDSN(srv.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	d, err := sqlgorm.Open("tester", good, nil)
	if err != nil || !strings.Contains(d.Place(), cfg.Addr) || strings.Contains(d.Place(), dbtest.Password) {
		t.Errorf("Place = %v, %v, want the address without the password", d, err)
	}
}
