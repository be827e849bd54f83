package zookeeper_test

import (
	"os"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// server is a ZooKeeper for one test that does harm to it, or the one that all others share.
type server struct {
	*dbtest.Server
	tb   testing.TB // nil for the shared one
	addr string
}

// newServer starts a server for one test.
func newServer(tb testing.TB) *server {
	tb.Helper()
	s := dbtest.ZooKeeper(tb)
	return &server{s, tb, s.Addr()}
}

// kill ends the process as a power cut would, and waits for its end.
func (s *server) kill() {
	s.tb.Helper()
	if err := s.Kill(); err != nil {
		s.tb.Fatal(err)
	}
}

// restart starts the server again on the same port and data.
func (s *server) restart() {
	s.tb.Helper()
	if err := s.Start(); err != nil {
		s.tb.Fatal(err)
	}
}

// pause stops the process without ending it, so that its sessions get old, and returns what makes
// it go on.
func (s *server) pause() (resume func()) {
	s.tb.Helper()
	if err := s.Pause(); err != nil {
		s.tb.Fatal(err)
	}
	return func() { s.Resume() }
}

// shared is the server of all tests that leave it alone; each takes a root of its own.
type shared struct{ dbtest.Shared }

func (sh *shared) get(tb testing.TB) *server {
	tb.Helper()
	s := sh.ZooKeeper(tb)
	return &server{s, nil, s.Addr()}
}

var zoo shared

func TestMain(m *testing.M) {
	code := m.Run()
	zoo.Close()
	os.Exit(code)
}
