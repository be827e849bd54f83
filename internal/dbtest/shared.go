package dbtest

import (
	"sync"
	"testing"
)

// Shared is one server of each kind for all the tests of a binary, each started when the first test
// asks for it. The zero value is ready to use; TestMain calls Close after m.Run. Tests take a
// database each (Server.CreateDB) and leave the server running.
type Shared struct {
	mu      sync.Mutex
	servers map[string]shared // by flavour's name
}

// shared is a server, or why there is none.
type shared struct {
	s   *Server
	err error
}

// MariaDB returns the shared MariaDB server, or skips the test as the function MariaDB does.
func (sh *Shared) MariaDB(tb testing.TB) *Server {
	tb.Helper()
	return sh.get(tb, newMariaDB(nil))
}

// Postgres returns the shared PostgreSQL server, or skips the test as the function Postgres does.
func (sh *Shared) Postgres(tb testing.TB) *Server {
	tb.Helper()
	return sh.get(tb, newPostgres(nil))
}

// ZooKeeper returns the shared ZooKeeper server, or skips the test as the function ZooKeeper does.
func (sh *Shared) ZooKeeper(tb testing.TB) *Server {
	tb.Helper()
	return sh.get(tb, zooKeeper{})
}

// Etcd returns the shared etcd server, or skips the test as the function Etcd does. Tests take a
// prefix each (Server.Prefix).
func (sh *Shared) Etcd(tb testing.TB) *Server {
	tb.Helper()
	return sh.get(tb, etcd{})
}

func (sh *Shared) get(tb testing.TB, f flavour) *Server {
	tb.Helper()
	long(tb, f)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	made, ok := sh.servers[f.name()]
	if !ok {
		if sh.servers == nil {
			sh.servers = map[string]shared{}
		}
		made.s, made.err = start(f)
		sh.servers[f.name()] = made
	}
	if made.err != nil {
		skip(tb, f, made.err)
	}
	return made.s
}

// Close stops the servers that were started. Tests must have ended.
func (sh *Shared) Close() {
	for _, made := range sh.servers {
		if made.s != nil {
			made.s.Close()
		}
	}
}
