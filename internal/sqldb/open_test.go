package sqldb_test

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

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
	s := &script{}
	pool := sql.OpenDB(s)
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
		d, err := sqldb.Open("tester", tt.db, nil)
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
	if d, err := sqldb.Open("tester", good, l); err != nil || d.Logger() != l {
		t.Errorf("Open = %v, want a database with the logger", err)
	}
}
