package e2e

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"
)

// forgotten are statements that an application has run on a pooled connection and not undone. A
// change that follows on that connection is lost when it closes, or is not made at all.
var forgotten = map[string][][]string{
	"MariaDB": {
		{"BEGIN", "SELECT * FROM WORKER_LEASE"},
		{"BEGIN", "SAVEPOINT s", "SELECT * FROM WORKER_LEASE"},
		{"SET autocommit = 0", "SELECT * FROM WORKER_LEASE"},
		{"XA START 'forgotten'"},
		{"START TRANSACTION READ ONLY"},
	},
	"PostgreSQL": {
		{"BEGIN", "SELECT * FROM WORKER_LEASE"},
		{"BEGIN", "SAVEPOINT s", "SELECT * FROM WORKER_LEASE"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT * FROM WORKER_LEASE"},
		{"BEGIN ISOLATION LEVEL SERIALIZABLE", "SELECT * FROM WORKER_LEASE"},
		{"BEGIN READ ONLY"},
		{"BEGIN", "SELECT * FROM NO_SUCH_TABLE"}, // a transaction that has failed
		{"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE"},
	},
	"SQLite": {
		{"BEGIN", "SELECT * FROM WORKER_LEASE"},
		{"BEGIN IMMEDIATE"},
		{"SAVEPOINT s", "SELECT * FROM WORKER_LEASE"},
	},
}

// keepSession opens a pool whose driver does not check a connection before it is used again. pgx
// would close one that is inside a transaction. Other drivers would not.
func (d dialect) keepSession(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	pool, err := d.connect(t, dsn).DB()
	if err != nil {
		t.Fatal(err)
	}
	c, err := dbtest.Connector(pool.Driver(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool = sql.OpenDB(&dbtest.Interceptor{Connectors: []driver.Connector{c}, KeepSession: true})
	t.Cleanup(func() { pool.Close() })
	dialector := postgres.New(postgres.Config{Conn: pool})
	if d.name == "MariaDB" {
		dialector = mysql.New(mysql.Config{Conn: pool, SkipInitializeWithVersion: true})
	}
	db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// prepared opens a pool behind GORM's cache of prepared statements.
func (d dialect) prepared(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	return d.connect(t, dsn).Session(&gorm.Session{PrepareStmt: true})
}

// resolved opens a pool with the plug-in that sends GORM's reads to a replica, which has no tables.
func (d dialect) resolved(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	db := d.connect(t, dsn)
	opener := map[string]func(string) gorm.Dialector{
		"MariaDB": mysql.Open, "PostgreSQL": postgres.Open, "SQLite": sqlite.Open,
	}[d.name]
	replica := opener(d.fresh(t))
	if err := db.Use(dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{replica}})); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestForgotten: what a claim reports is committed, whatever the application has left on the pool's
// connection and whatever the pool is wrapped in. The connection is closed after each call, which
// undoes what is not committed.
func TestForgotten(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		pools := map[string]func(*testing.T, string) *gorm.DB{
			"plain":    func(t *testing.T, dsn string) *gorm.DB { return d.connect(t, dsn) },
			"prepared": d.prepared,
			"resolved": d.resolved,
			"resolved, prepared": func(t *testing.T, dsn string) *gorm.DB {
				return d.resolved(t, dsn).Session(&gorm.Session{PrepareStmt: true})
			},
		}
		if d.name != "SQLite" { // its driver never checks a connection
			pools["session kept"] = d.keepSession
		}
		for kind, open := range pools {
			for _, statements := range forgotten[d.name] {
				t.Run(kind+"/"+statements[0]+"/"+statements[len(statements)-1], func(t *testing.T) {
					t.Parallel()
					dsn := d.migrated(t)
					db := open(t, dsn)
					pool, err := db.DB()
					if err != nil {
						t.Fatal(err)
					}
					pool.SetMaxOpenConns(1)
					forget := func() {
						for _, s := range statements {
							pool.Exec(s) // may fail: NO_SUCH_TABLE is there to
						}
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					check := func(after string, worker int64, until time.Time) {
						t.Helper()
						pool.SetMaxIdleConns(-1)
						pool.SetMaxIdleConns(1)
						slots, err := d.in(dsn, workertable.DefaultNamespace).open(t, lease.Options{}).Slots(ctx)
						if err != nil {
							t.Fatal(err)
						}
						for _, s := range slots {
							if s.Worker == worker && s.Until.Equal(until) {
								return
							}
						}
						t.Errorf("after %s the slots are %+v, want worker %d until %v", after, slots, worker, until)
					}
					forget()
					one, err := workernode.Disposable(db, nil).Assign(ctx, 1<<22-1)
					if err != nil {
						t.Fatal(err)
					}
					pool.SetMaxIdleConns(-1)
					pool.SetMaxIdleConns(1)
					var newest int64
					err = d.connect(t, dsn).Raw("SELECT MAX(ID) FROM WORKER_NODE").Row().Scan(&newest)
					if err != nil || newest != one.Worker() {
						t.Errorf("the newest row is %d, %v, want worker %d", newest, err, one.Worker())
					}
					for range 2 { // a new row, then a free one
						forget()
						c, err := workernode.Leased(db, nil).Assign(ctx, 1<<22-1)
						if err != nil {
							t.Fatal(err)
						}
						_, until := c.Window()
						check("Assign", c.Worker(), until)
						forget()
						if until, err = c.Extend(ctx, until.Add(time.Hour)); err != nil {
							t.Fatal(err)
						}
						check("Extend", c.Worker(), until)
						forget()
						used := time.Now().Add(-time.Minute).Truncate(time.Millisecond).UTC()
						from, _ := c.Window()
						if from.After(used) {
							used = from
						}
						if err := c.Release(ctx, used); err != nil {
							t.Fatal(err)
						}
						check("Release", c.Worker(), used)
					}
					// Inside an old snapshot the row looks unchanged after another owner has taken it.
					c, err := workernode.Leased(db, nil).Assign(ctx, 1<<22-1)
					if err != nil {
						t.Fatal(err)
					}
					forget()
					if statements[0] == "BEGIN IMMEDIATE" {
						return // no other owner can take the row
					}
					change := d.connect(t, dsn).Exec("UPDATE WORKER_LEASE SET GENERATION = GENERATION + 1, " +
						"NONCE = 7 WHERE WORKER_ID >= 0")
					if change.Error != nil {
						t.Fatal(change.Error)
					}
					_, until := c.Window()
					_, err = c.Extend(ctx, until.Add(time.Hour))
					if !errors.Is(err, assigner.ErrClaimLost) || errors.Is(err, assigner.ErrWentBack) {
						t.Errorf("Extend after another owner took the row = %v, want ErrClaimLost", err)
					}
				})
			}
		}
	})
}

// TestForgottenInMemory: a database in memory lasts as long as its connection, so a connection with
// a forgotten transaction is kept.
func TestForgottenInMemory(t *testing.T) {
	t.Parallel()
	db := dialects[2].connect(t, ":memory:")
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	for want := range int64(3) {
		if _, err := pool.Exec("BEGIN"); err != nil {
			t.Fatal(err)
		}
		if c, err := workernode.Leased(db, nil).Assign(t.Context(), 1<<16-1); err != nil || c.Worker() != want+1 {
			t.Fatalf("Assign = %v, %v, want worker %d", c, err, want+1)
		}
	}
}
