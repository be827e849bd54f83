package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// User and Password are the account that every Server has: all privileges, over TCP, from anywhere
// on the machine. The password is conspicuous, so that a test can look for it where it must not
// appear.
const (
	User     = "uidring"
	Password = "s3cret-never-shown"
)

// ErrNoServer is what the constructors' errors wrap when a program that they need is not installed.
var ErrNoServer = errors.New("server not installed")

// startTries is how often a start is tried: a server that was killed may leave children that hold
// on to its files and memory for a moment longer.
const startTries = 4

// startTimeout bounds how long a server may take until it accepts connections, stopTimeout how long
// it may take to stop when asked nicely.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 20 * time.Second
)

// Server is a server process. Its methods are safe for concurrent use.
type Server struct {
	flavour flavour
	dir     string // everything of the server's; removed by Close
	port    int
	store   *Server      // that keeps this server's data and is closed with it; nil: its own disk
	serial  atomic.Int64 // numbers the databases, so that no two tests that share the server meet

	mu   sync.Mutex
	proc *process // nil while the server is down
}

// flavour is what differs between the database systems.
type flavour interface {
	name() string                                    // of the suite that is skipped without it
	install(dir string) error                        // makes a data directory
	command(dir string, port int) (*exec.Cmd, error) // of the server, in the foreground
	ready(addr string) error                         // nil when the server accepts queries
	stopSignal() syscall.Signal                      // stops the server cleanly
	deathSignal() syscall.Signal                     // stops it at once, with all its children
	dsn(addr, db string) string
}

// database is a flavour with a command-line client.
type database interface {
	flavour
	client(host, port, db, statement string) *exec.Cmd // prints the bare result
}

// start makes a data directory and starts a server on it. The caller calls Close.
func start(f flavour) (*Server, error) {
	dir, err := os.MkdirTemp("", "uidring-")
	if err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	s := &Server{flavour: f, dir: dir}
	if err := f.install(dir); err != nil {
		s.Close()
		return nil, err
	}
	// The port is free when it is chosen and may be taken a moment later, so a server that does not
	// come up gets another one.
	for range 3 {
		if s.port, err = freePort(); err == nil {
			err = s.Start()
		}
		if err == nil {
			return s, nil
		}
	}
	s.Close()
	return nil, err
}

// fresh starts a server for one test, or skips the test.
func fresh(tb testing.TB, f flavour) *Server {
	tb.Helper()
	long(tb, f)
	s, err := start(f)
	if err != nil {
		skip(tb, f, err)
	}
	s.closeAfter(tb)
	return s
}

// closeAfter closes the server when the test ends.
func (s *Server) closeAfter(tb testing.TB) {
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("%s log:\n%s", s.flavour.name(), s.Log())
		}
		s.Close()
	})
}

// Long skips a test of a suite that -short leaves out. MariaDB stands there for all servers: its
// tests are the ones that every change has to pass at once.
func Long(tb testing.TB, suite string) {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("skipped: %s suite: make test-all runs it", suite)
	}
}

// long is Long for the suite of a flavour.
func long(tb testing.TB, f flavour) {
	tb.Helper()
	if f.name() != newMariaDB(nil).name() {
		Long(tb, f.name())
	}
}

// skip ends the test because of err: skipped if a program is missing and may be, failed otherwise.
func skip(tb testing.TB, f flavour, err error) {
	tb.Helper()
	if errors.Is(err, ErrNoServer) && os.Getenv("UIDRING_REQUIRE_SERVERS") != "1" {
		tb.Skipf("skipped: %s suite: %v", f.name(), err)
	}
	tb.Fatalf("%s suite: %v", f.name(), err)
}

// Start starts the server again, on the same data and the same port, and returns when it accepts
// connections. On a running server it does nothing.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return nil
	}
	for try := 1; ; try++ {
		err := s.startOnce()
		if err == nil || try == startTries {
			return err
		}
		time.Sleep(time.Duration(try) * 100 * time.Millisecond)
	}
}

func (s *Server) startOnce() error {
	cmd, err := s.flavour.command(s.dir, s.port)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(cmd, s.flavour.deathSignal())
	if err != nil {
		return fmt.Errorf("dbtest: start %s: %w", s.flavour.name(), err)
	}
	deadline := time.Now().Add(startTimeout)
	for {
		err := s.flavour.ready(s.Addr())
		if err == nil {
			s.proc = p
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("dbtest: %s ended at its start: %s", s.flavour.name(), s.Log())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.signal(s.flavour.deathSignal())
			<-p.done
			return fmt.Errorf("dbtest: %s is not ready after %v: %w: %s",
				s.flavour.name(), startTimeout, err, s.Log())
		}
	}
}

// Stop stops the server cleanly and waits for its end. On a server that is down it does nothing.
func (s *Server) Stop() error { return s.end(s.flavour.stopSignal()) }

// Kill ends the server at once, with SIGKILL, as a crash of the machine's power supply would end it
// but for the operating system's caches, and waits for its end.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

func (s *Server) end(sig syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	resume(p) // a stopped process does not see a signal to stop
	if err := p.signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("dbtest: %w", err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
	}
	p.signal(syscall.SIGKILL)
	<-p.done
	return fmt.Errorf("dbtest: %s did not stop within %v and was killed",
		s.flavour.name(), stopTimeout)
}

// Pause stops the server's process (SIGSTOP): connections stay open and get no answer. PostgreSQL's
// sessions are processes of their own and are paused with it.
func (s *Server) Pause() error { return s.each(pause) }

// Resume undoes Pause.
func (s *Server) Resume() error { return s.each(resume) }

func (s *Server) each(f func(*process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return fmt.Errorf("dbtest: %s is down", s.flavour.name())
	}
	return f(s.proc)
}

// Close kills the server and removes its data. Closing twice does nothing.
func (s *Server) Close() {
	s.Kill()
	os.RemoveAll(s.dir)
	if s.store != nil {
		s.store.Close()
	}
}

// DataDir returns the folder of the server's data. Only a server that is down leaves it alone.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "data") }

// Addr returns the server's TCP address, host:port. It stays the same over Stop and Start.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// DSN returns the data source name of a database: of the form
// user:password@tcp(host:port)/db?parseTime=true for MariaDB, postgres://user:password@host:port/db
// for PostgreSQL. An empty db is the server's own (none, and postgres).
func (s *Server) DSN(db string) string { return s.DSNVia(s.Addr(), db) }

// DSNVia is DSN with another address, such as a Proxy's.
func (s *Server) DSNVia(addr, db string) string { return s.flavour.dsn(addr, db) }

// CreateDB makes an empty database with a name of its own and returns the name. The server must be
// up.
func (s *Server) CreateDB(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("t%d", s.serial.Add(1))
	s.Exec(tb, "CREATE DATABASE "+name)
	return name
}

// Prefix returns a name that no other test on the server gets, for servers without databases.
func (s *Server) Prefix() string { return fmt.Sprintf("t%d", s.serial.Add(1)) }

// Backup stops the server, copies its data and starts it again. It returns what stops the server,
// puts the copy in place of the data and starts it again, as often as it is called. The copy is
// removed with the server.
func (s *Server) Backup() (restore func() error, err error) {
	data, kept := filepath.Join(s.dir, "data"), filepath.Join(s.dir, "kept-"+s.Prefix())
	return func() error { return s.swap(kept, data) }, s.swap(data, kept)
}

// swap makes to a copy of from, owners and all, while the server is down.
func (s *Server) swap(from, to string) error {
	err := s.Stop()
	if err == nil {
		err = os.RemoveAll(to)
	}
	if err == nil {
		err = run(exec.Command("cp", "-a", from, to))
	}
	if err != nil {
		return err
	}
	return s.Start()
}

// Exec runs statements through the server's command-line client, each on its own connection, and
// fails the test at the first error.
func (s *Server) Exec(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, q := range statements {
		s.Query(tb, "", q)
	}
}

// Query runs a statement in a database through the server's command-line client and returns its
// result: a line per row, a tab between columns, no heading. An error fails the test.
func (s *Server) Query(tb testing.TB, db, statement string) string {
	tb.Helper()
	out, err := s.TryQuery(db, statement)
	if errors.Is(err, ErrNoServer) {
		skip(tb, s.flavour, err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TryQuery is Query for a statement that may fail. The error has the server's message, and wraps
// ErrNoServer if the client is not installed.
func (s *Server) TryQuery(db, statement string) (string, error) {
	cmd := s.flavour.(database).client("127.0.0.1", strconv.Itoa(s.port), db, statement)
	if cmd.Err != nil {
		return "", fmt.Errorf("%w: %s not found in PATH", ErrNoServer, filepath.Base(cmd.Path))
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %s: %w: %s", s.flavour.name(), statement, err,
			strings.TrimSpace(stderr.String()))
	}
	return strings.TrimRight(stdout.String(), "\n"), nil
}

// Log returns the end of what the server wrote to its log.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.logFile())
	if len(b) > 4096 {
		b = b[len(b)-4096:]
	}
	return strings.TrimSpace(string(b))
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("dbtest: no free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// run runs a program to its end.
func run(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("dbtest: %s: %w: %s", filepath.Base(cmd.Path), err, tail(out))
	}
	return nil
}

// tail returns the end of a program's output, for an error message.
func tail(out []byte) []byte {
	out = bytes.TrimSpace(out)
	if len(out) > 2048 {
		out = out[len(out)-2048:]
	}
	return out
}
