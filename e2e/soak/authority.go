package main

import "github.com/uidring/uidring/internal/dbtest"

// authority is where a fleet's worker ids come from.
type authority struct {
	kinds  []kind  // that the processes run, in turn
	faults []fault // that can happen to it and to the network
	tells  bool    // it has a clock, which can be wrong

	start func() (*dbtest.Server, error)               // a server that is ready for processes
	dsn   func(srv *dbtest.Server, addr string) string // of processes that connect to addr
}

// kind is what a process runs: a generator, and where its worker id comes from.
type kind struct{ kind, from string }

// authorities are the values of -authority.
var authorities = map[string]*authority{"mariadb": &mariaDB, "etcd": &etcdCluster,
	"kubernetes": newCluster()}
