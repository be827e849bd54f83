package faults

import (
	"database/sql"
	sqldriver "database/sql/driver"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// standbysPool opens a pool of a group, as a program does, with idle connections that are kept.
func standbysPool(t *testing.T, g *dbtest.Group, name string) (*gorm.DB, *sql.DB) {
	t.Helper()
	var hosts []sqldriver.Connector
	for _, s := range g.Servers {
		c, err := pgx.ParseConfig(s.DSN(name) + "&target_session_attrs=read-write")
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, stdlib.GetConnector(*c))
	}
	connector, err := workernode.Hosts(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	t.Cleanup(func() { pool.Close() })
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}),
		&gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	if err != nil {
		t.Fatal(err)
	}
	return db, pool
}

// TestFrozenPrimary: a primary stops, and a standby is promoted. Two seconds later a request that the
// first one has is carried out by the second, and so is one of a pool whose connections to the first
// were idle. A request that a primary without a successor takes long for is left alone.
func TestFrozenPrimary(t *testing.T) {
	t.Parallel()
	g := dbtest.Standbys(t)
	old := g.Primary()
	name := old.CreateDB(t)
	db, _ := standbysPool(t, g, name)
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	assign := func(db *gorm.DB) assigner.Claim {
		c, err := workernode.Leased(db, nil).Assign(t.Context(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	extend := func(c assigner.Claim) error {
		_, until := c.Window()
		_, err := c.Extend(t.Context(), until.Add(time.Minute))
		return err
	}
	waits := assign(db)
	lock := func() *sql.Tx {
		one, err := sql.Open("pgx", old.DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { one.Close() })
		tx, err := one.Begin()
		if err == nil {
			_, err = tx.Exec("SELECT * FROM WORKER_LEASE WHERE WORKER_ID = $1 FOR UPDATE", waits.Worker())
		}
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	tx := lock()
	time.AfterFunc(3*time.Second, func() { tx.Rollback() })
	begin := time.Now()
	if err := extend(waits); err != nil || time.Since(begin) < 2*time.Second {
		t.Errorf("Extend of a row that is locked for 3s = %v after %v, want no error when it is free",
			err, time.Since(begin))
	}

	other, idle := standbysPool(t, g, name)
	rests := assign(other)
	var conns []*sql.Conn
	for range 2 {
		c, err := idle.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		c.Close()
	}
	lock()
	answered := make(chan time.Time, 1)
	go func() {
		if err := extend(waits); err != nil {
			t.Errorf("Extend that a stopped primary has = %v", err)
		}
		answered <- time.Now()
	}()
	time.Sleep(time.Second) // so that the driver asks idle connections whether they are alive
	if err := old.Pause(); err != nil {
		t.Fatal(err)
	}
	defer old.Resume()
	if err := g.FailOver(); err != nil {
		t.Fatal(err)
	}
	begin = time.Now()
	if n := idle.Stats().Idle; n != 2 {
		t.Errorf("%d connections are idle, want 2", n)
	}
	if err := extend(rests); err != nil || time.Since(begin) > 2*time.Second {
		t.Errorf("Extend by idle connections = %v, %v after the next primary was there, want 2s",
			err, time.Since(begin))
	}
	if took := (<-answered).Sub(begin); took > 2*time.Second {
		t.Errorf("the request that the stopped primary has was answered %v after the next was there, want 2s", took)
	}
}
