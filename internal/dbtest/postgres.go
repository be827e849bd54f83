package dbtest

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Postgres starts a fresh PostgreSQL server for one test, or skips the test. Each arg is passed on
// to postgres, such as "-cdefault_transaction_read_only=on". If the test runs as root the server
// runs as the user postgres or nobody.
func Postgres(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, newPostgres(args))
}

// CurrentPostgres is Postgres with the server that "make servers" has fetched.
func CurrentPostgres(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, postgres{args, true})
}

// NewPostgres is Postgres outside of a test, such as in TestMain. The error wraps ErrNoServer if
// PostgreSQL is not installed; the caller calls Close.
func NewPostgres(args ...string) (*Server, error) { return start(newPostgres(args)) }

// newPostgres is the flavour of PostgreSQL.
func newPostgres(args []string) postgres { return postgres{args, current()} }

type postgres struct {
	args    []string
	current bool // the server that "make servers" has fetched, not the machine's
}

// pgDirs is where distributions keep the programs of each major version; the highest is used.
var pgDirs = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql*/bin"}

func (postgres) name() string               { return "PostgreSQL" }
func (postgres) stopSignal() syscall.Signal { return syscall.SIGINT } // fast shutdown

// deathSignal shuts down at once, children included.
func (postgres) deathSignal() syscall.Signal { return syscall.SIGQUIT }

// find returns the path of a program of PostgreSQL.
func (p postgres) find(program string) (string, error) {
	if !p.current {
		return find(program, pgDirs...)
	}
	home, err := serversHome()
	return filepath.Join(home, "usr/lib/postgresql/18/bin", program), err
}

func (p postgres) install(dir string) error {
	installer, err := p.find("initdb")
	if err != nil {
		return err
	}
	if err := giveAway(dir); err != nil {
		return err
	}
	pwfile := filepath.Join(dir, "password")
	if err := os.WriteFile(pwfile, []byte(Password+"\n"), 0o600); err != nil {
		return err
	}
	if err := giveAway(pwfile); err != nil {
		return err
	}
	cmd := exec.Command(installer, "--pgdata="+filepath.Join(dir, "data"), "--username="+User,
		"--pwfile="+pwfile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	cmd.Dir = dir
	if err := unprivileged(cmd); err != nil {
		return err
	}
	return run(cmd)
}

func (p postgres) command(dir string, port int) (*exec.Cmd, error) {
	server, err := p.find("postgres")
	if err != nil {
		return nil, err
	}
	args := []string{
		"-D", filepath.Join(dir, "data"),
		"-p", strconv.Itoa(port),
		"-h", "127.0.0.1",
		"-cunix_socket_directories=",
		"-cshared_buffers=16MB",
		"-cmax_connections=300",
		// a killed process loses nothing that it wrote; a lost machine is not what is tested
		"-cfsync=off",
		"-cautovacuum=off",
	}
	cmd := exec.Command(server, append(args, p.args...)...)
	cmd.Dir = dir
	return cmd, unprivileged(cmd)
}

// ready asks for a session and is content with the question for the password: a server that is
// starting up or shutting down answers with an error.
func (postgres) ready(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	body := "user\x00" + User + "\x00database\x00postgres\x00\x00"
	msg := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	msg = binary.BigEndian.AppendUint32(msg, 3<<16) // protocol 3.0
	if _, err := c.Write(append(msg, body...)); err != nil {
		return err
	}
	var kind [1]byte
	if _, err := io.ReadFull(c, kind[:]); err != nil {
		return err
	}
	if kind[0] != 'R' {
		return fmt.Errorf("answer of kind %q, want 'R'", kind[0])
	}
	return nil
}

func (postgres) dsn(addr, db string) string {
	if db == "" {
		db = "postgres"
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(User, Password), Host: addr,
		Path: "/" + db, RawQuery: "sslmode=disable"}
	return u.String()
}

func (p postgres) client(host, port, db, statement string) *exec.Cmd {
	if db == "" {
		db = "postgres"
	}
	program, err := p.find("psql")
	if err != nil {
		program = "psql"
	}
	cmd := exec.Command(program, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
		"--field-separator=\t",
		"--set=ON_ERROR_STOP=1", "--host="+host, "--port="+port, "--username="+User, "--dbname="+db,
		"--command="+statement)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+Password, "PGCONNECT_TIMEOUT=10")
	return cmd
}
