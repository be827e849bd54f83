package main

import "github.com/uidring/uidring/internal/dbtest"

// authority is a kind of server that a fleet's worker ids come from.
type authority struct {
	kinds  []kind  // what the processes run, in turn
	faults []fault // what can happen to the server and to the network

	// text is added to the DSN of every second process, so that all of a change is in the request
	// that makes it.
	text string

	// start starts a server that is ready for processes, or makes a file: then there is none.
	start func() (*dbtest.Server, error)

	// end removes what start has made besides the server; nil: nothing.
	end func()

	// dsn returns the DSN of processes that reach the server at addr.
	dsn func(srv *dbtest.Server, addr string) string

	// dsnOf returns the DSN of the process in a slot; nil: all have that of dsn.
	dsnOf func(slot int) string

	// backup makes a backup; nil: the store is never restored, and has its own faults only.
	backup func(in *injector) (backup, error)

	// numbers says that the store numbers worker ids itself, so that a claim cannot be bound to
	// those from First on.
	numbers bool

	// alone calls do while no process is in the middle of a change that keeps all others from
	// theirs; nil: there are no such changes.
	alone func(do func()) error

	// remove deletes the entries of worker ids that are there, as an operator would by hand.
	remove func(in *injector, workers ...int64) error
}

// kind is what a process runs: a generator, and where its worker id comes from.
type kind struct{ kind, from string }

// authorities are the values of -authority. Each run has one of its own.
var authorities = map[string]func() *authority{
	"mariadb":  func() *authority { return &mariaDB },
	"postgres": func() *authority { return &postgreSQL },
	"sqlite":   newSQLite,
	"etcd":     func() *authority { return &etcdCluster },

	"group-replication":       newGroupReplication,
	"group-replication-multi": newMultiPrimary,
	"semisync":                newSemiSync,
	"semisync-after-commit":   newAfterCommit,
	"standbys":                newStandbys,

	"kubernetes": newCluster,
	"zookeeper":  func() *authority { return &zooKeeper },
}
