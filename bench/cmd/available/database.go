package main

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/bench/internal/server"
	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/dbtest"
)

// database is what the servers keep their counters and leases in.
type database interface {
	dsn() string

	// kill kills a server of it, and returns when the database is whole again.
	kill(ctx context.Context) error

	// String says what was killed, and for how long nothing could be written.
	String() string

	Close()
}

// down is how long a server of a database stays away after a kill, at least.
const down = 5 * time.Second

// mariaDB is one server.
type mariaDB struct {
	*dbtest.Server
	kills int
}

func newMariaDB() (database, error) {
	s, err := server.MariaDB()
	if err != nil {
		return nil, err
	}
	return &mariaDB{Server: s}, nil
}

func (m *mariaDB) dsn() string { return m.DSN("ids") }

func (m *mariaDB) kill(ctx context.Context) error {
	m.kills++
	if err := m.Kill(); err != nil {
		return err
	}
	backoff.Wait(ctx, down)
	return m.Start()
}

func (m *mariaDB) String() string {
	return fmt.Sprintf("the database %d times for %v and its start each", m.kills, down)
}

// mySQLGroup is three servers with one primary, and MySQL's own settings of when a member counts as
// lost.
type mySQLGroup struct {
	*dbtest.Group
	primaries, secondaries int
	longest, all           time.Duration // without a primary
}

func newMySQLGroup() (database, error) {
	g, err := dbtest.NewGroupReplication(false, "--innodb-flush-log-at-trx-commit=1",
		"--sync-binlog=1")
	if err != nil {
		return nil, err
	}
	for _, q := range []string{
		"CREATE DATABASE ids",
		"CREATE USER app@'%' IDENTIFIED BY '" + dbtest.Password + "'",
		"GRANT SELECT, INSERT, UPDATE, CREATE ON ids.* TO app@'%'",
		"GRANT SELECT ON performance_schema.replication_group_members TO app@'%'",
	} {
		if _, err := g.Primary().TryQuery("", q); err != nil {
			g.Close()
			return nil, err
		}
	}
	return &mySQLGroup{Group: g}, nil
}

func (g *mySQLGroup) dsn() string {
	return "app:" + dbtest.Password + "@tcp(" + g.Addrs() + ")/ids?timeout=2s&readTimeout=2s"
}

func (g *mySQLGroup) kill(ctx context.Context) error {
	victim, primary := g.Primary(), (g.primaries+g.secondaries)%3 != 2
	for i := 0; !primary && victim == g.Primary(); i++ {
		victim = g.Servers[i]
	}
	begin := time.Now()
	if err := victim.Kill(); err != nil {
		return err
	}
	if primary {
		g.primaries++
		if err := g.FailOver(); err != nil {
			return err
		}
		g.longest, g.all = max(g.longest, time.Since(begin)), g.all+time.Since(begin)
	} else {
		g.secondaries++
	}
	backoff.Wait(ctx, down-time.Since(begin))
	if err := g.Rejoin(victim); err != nil {
		return err
	}
	return g.Whole()
}

func (g *mySQLGroup) String() string {
	return fmt.Sprintf("the group's primary %d times and another member %d times; without a "+
		"primary for %v, %v at the longest", g.primaries, g.secondaries, g.all.Round(time.Second),
		g.longest.Round(time.Second))
}
