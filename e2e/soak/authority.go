package main

import "github.com/uidring/uidring/internal/dbtest"

// authority is a kind of server that a fleet's worker ids come from.
type authority struct {
	kinds  []kind  // what the processes run, in turn
	faults []fault // what can happen to the server and to the network
	tells  bool    // whether it has a clock, which can be wrong

	// start starts a server that is ready for processes.
	start func() (*dbtest.Server, error)

	// dsn returns the DSN of processes that reach the server at addr.
	dsn func(srv *dbtest.Server, addr string) string
}

// kind is what a process runs: a generator, and where its worker id comes from.
type kind struct{ kind, from string }

// authorities are the values of -authority.
var authorities = map[string]*authority{"mariadb": &mariaDB, "etcd": &etcdCluster,
	"kubernetes": newCluster(), "zookeeper": &zooKeeper}
