package dbtest

import (
	"errors"
	"sync"
	"testing"
)

// Shared is one server of each kind for all the tests of a binary, each started when the first test
// asks for it. The zero value is ready to use; TestMain calls Close after m.Run. Tests take a
// database each (Server.CreateDB) and leave the server running.
type Shared struct {
	mariaDB, postgres, zooKeeper, etcd once
	mu                                 sync.Mutex
}

type once struct {
	s   *Server
	err error
}

// errNotStarted stands for a server that nobody asked for.
var errNotStarted = errors.New("dbtest: not started")

// MariaDB returns the shared MariaDB server, or skips the test as the function MariaDB does.
func (sh *Shared) MariaDB(tb testing.TB) *Server {
	tb.Helper()
	return sh.get(tb, &sh.mariaDB, newMariaDB(nil))
}

// Postgres returns the shared PostgreSQL server, or skips the test as the function Postgres does.
func (sh *Shared) Postgres(tb testing.TB) *Server {
	tb.Helper()
	Long(tb, postgres{}.name())
	return sh.get(tb, &sh.postgres, newPostgres(nil))
}

// ZooKeeper returns the shared ZooKeeper server, or skips the test as the function ZooKeeper does.
func (sh *Shared) ZooKeeper(tb testing.TB) *Server {
	tb.Helper()
	Long(tb, zooKeeper{}.name())
	return sh.get(tb, &sh.zooKeeper, zooKeeper{})
}

// Etcd returns the shared etcd server, or skips the test as the function Etcd does. Tests take a
// prefix each (Server.Prefix).
func (sh *Shared) Etcd(tb testing.TB) *Server {
	tb.Helper()
	Long(tb, etcd{}.name())
	return sh.get(tb, &sh.etcd, etcd{})
}

func (sh *Shared) get(tb testing.TB, o *once, f flavour) *Server {
	tb.Helper()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if o.s == nil && o.err == nil {
		o.s, o.err = start(f)
	}
	if o.err != nil {
		skip(tb, f, o.err)
	}
	return o.s
}

// Close stops the servers that were started. Tests must have ended.
func (sh *Shared) Close() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, o := range []*once{&sh.mariaDB, &sh.postgres, &sh.zooKeeper, &sh.etcd} {
		if o.s != nil {
			o.s.Close()
		}
		*o = once{err: errNotStarted}
	}
}
