package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// database is the name of the fleet's database.
const database = "scale"

// source is a server that worker ids come from.
type source interface {
	reset() error                        // makes the server empty
	job(kind string) job                 // returns the job of a process
	counters() (map[string]int64, error) // reads how much the server has done so far
	pass() error                         // moves the ends of all windows into the past
	Close()
}

// newSource starts the server of a kind of assigner.
func newSource(kind string, connections int) (source, error) {
	switch kind {
	case zooKeeper:
		return newZooKeeper()
	case etcdKind:
		return newEtcd()
	case cluster:
		return newAPIServer()
	case postgreSQL:
		return newPostgres(connections)
	case static, host, env, statefulSet:
		return nothing{}, nil
	}
	srv, err := newMariaDB(connections)
	if err != nil || kind != overHTTP {
		return srv, err
	}
	s, err := newService(srv)
	if err != nil {
		srv.Close()
	}
	return s, err
}

// nothing stands for the server of a kind that needs none.
type nothing struct{}

func (nothing) reset() error                        { return nil }
func (nothing) job(kind string) job                 { return job{Kind: kind} }
func (nothing) counters() (map[string]int64, error) { return nil, nil }
func (nothing) pass() error                         { return nil }
func (nothing) Close()                              {}

// mariaDB is a source of worker ids that the tables of package workernode keep.
type mariaDB struct{ *dbtest.Server }

// newMariaDB starts a MariaDB that writes every commit to the disk. reset makes the tables.
func newMariaDB(connections int) (mariaDB, error) {
	srv, err := dbtest.NewMariaDB("--innodb-flush-log-at-trx-commit=1",
		fmt.Sprintf("--max-connections=%d", connections))
	return mariaDB{srv}, err
}

func (srv mariaDB) job(kind string) job { return job{Kind: kind, DSN: srv.DSN(database)} }

// reset makes the database and its tables anew.
func (srv mariaDB) reset() error {
	_, err := srv.TryQuery("", "DROP DATABASE IF EXISTS "+database+"; CREATE DATABASE "+database)
	if err != nil {
		return err
	}
	db, err := workernode.OpenMySQL(srv.DSN(database))
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	return workernode.Migrate(context.Background(), db)
}

// counted are the server's counters that a run has, each per start.
var counted = []string{"Questions", "Com_select", "Com_insert", "Com_update", "Com_commit",
	"Connections", "Rows_read", "Innodb_row_lock_waits"}

func (srv mariaDB) counters() (map[string]int64, error) {
	text, err := srv.TryQuery("", "SHOW GLOBAL STATUS WHERE Variable_name IN ('"+
		strings.Join(counted, "', '")+"')")
	if err != nil {
		return nil, err
	}
	m := map[string]int64{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if m[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (srv mariaDB) pass() error { return passRows(srv.Server) }

// passRows moves the ends of all windows of a database back by an hour.
func passRows(srv *dbtest.Server) error {
	_, err := srv.TryQuery(database, "UPDATE WORKER_LEASE SET UNTIL_MS = UNTIL_MS - 3600000 "+
		"WHERE WORKER_ID >= 0")
	return err
}
