package dbtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// OracleEnv in the environment, as 1, makes every MariaDB here the current MySQL and every
// PostgreSQL the current one: the tests of a package that ask for the machine's servers run on
// those that "make servers" has fetched.
const OracleEnv = "UIDRING_TEST_MYSQL"

// current reports whether the tests run on the current servers.
func current() bool { return os.Getenv(OracleEnv) == "1" }

// Isolation is the name of the session's isolation level, which MySQL has renamed.
func Isolation() string {
	if current() {
		return "transaction_isolation"
	}
	return "tx_isolation"
}

// SkipOnMySQL skips a test whose own statements MySQL does not know.
func SkipOnMySQL(tb testing.TB, what string) {
	tb.Helper()
	if current() {
		tb.Skipf("skipped on MySQL: %s", what)
	}
}

// MariaDB starts a fresh MariaDB server for one test, or skips the test. Each arg is passed on to
// mariadbd, such as "--auto-increment-increment=2".
func MariaDB(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, newMariaDB(args))
}

// NewMariaDB is MariaDB outside of a test, such as in TestMain. The error wraps ErrNoServer if
// MariaDB is not installed; the caller calls Close.
func NewMariaDB(args ...string) (*Server, error) { return start(newMariaDB(args)) }

// newMariaDB is the flavour of MariaDB.
func newMariaDB(args []string) flavour {
	if current() {
		return mySQL{mariaDB{args}}
	}
	return mariaDB{args}
}

type mariaDB struct{ args []string }

func (mariaDB) name() string                { return "MariaDB" }
func (mariaDB) stopSignal() syscall.Signal  { return syscall.SIGTERM }
func (mariaDB) deathSignal() syscall.Signal { return syscall.SIGKILL }

// common are the settings of both the installation and the server: small files and buffers for a
// quick start. A commit reaches the operating system but not the disk, which is what surviving
// SIGKILL takes.
func (mariaDB) common(dir string) []string {
	args := []string{
		"--no-defaults",
		"--datadir=" + filepath.Join(dir, "data"),
		// A server that starts removes the temporary tables of all servers that share the folder.
		"--tmpdir=" + dir,
		"--innodb-buffer-pool-size=16M",
		"--innodb-log-file-size=8M",
		"--innodb-data-file-path=ibdata1:4M:autoextend",
		"--innodb-flush-log-at-trx-commit=2",
		"--skip-log-bin",
	}
	return append(args, asRoot()...)
}

// asRoot has a server run as root if this process does, which it refuses otherwise.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// writeAccount writes the init file, which is run at every start, before the first connection is
// accepted.
func writeAccount(dir string) error {
	account := fmt.Sprintf("'%s'@'%%'", User)
	return writeInit(dir, "CREATE USER IF NOT EXISTS "+account+" IDENTIFIED BY '"+Password+"';\n"+
		"GRANT ALL ON *.* TO "+account+" WITH GRANT OPTION;\n")
}

// writeInit writes the init file.
func writeInit(dir, statements string) error {
	return os.WriteFile(filepath.Join(dir, "init.sql"), []byte(statements), 0o600)
}

func (m mariaDB) install(dir string) error {
	server, err := find("mariadbd")
	if err != nil {
		return err
	}
	if err := writeAccount(dir); err != nil {
		return err
	}
	var cmd *exec.Cmd
	if tables := systemTables(server); tables != nil {
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
			return fmt.Errorf("dbtest: %w", err)
		}
		cmd = exec.Command(server, append(m.common(dir), "--bootstrap", "--log-warnings=0",
			"--enforce-storage-engine=", "--max-allowed-packet=8M")...)
		cmd.Stdin = bytes.NewReader(tables)
	} else {
		installer, err := find("mariadb-install-db")
		if err != nil {
			return err
		}
		cmd = exec.Command(installer, append(m.common(dir),
			"--auth-root-authentication-method=normal", "--skip-test-db")...)
	}
	return run(cmd)
}

// systemTables returns the statements with which mariadb-install-db makes the system tables, but
// for the help texts and the schema sys, which take most of its time. It returns nil where the
// statements are not found.
func systemTables(server string) []byte {
	share := filepath.Join(filepath.Dir(filepath.Dir(server)), "share")
	for _, name := range []string{"mysql", "mariadb"} {
		all := []byte("CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET " +
			"@auth_root_socket=NULL;\n")
		found := true
		for _, part := range []string{"system_tables", "performance_tables", "system_tables_data"} {
			text, err := os.ReadFile(filepath.Join(share, name, name+"_"+part+".sql"))
			all = append(append(all, text...), '\n')
			found = found && err == nil
		}
		if found {
			return all
		}
	}
	return nil
}

func (m mariaDB) command(dir string, port int) (*exec.Cmd, error) {
	server, err := find("mariadbd")
	if err != nil {
		return nil, err
	}
	return exec.Command(server, slices.Concat(m.common(dir), m.serve(dir, port), m.args)...), nil
}

// serve are the settings of the server alone.
func (mariaDB) serve(dir string, port int) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(port),
		"--socket=" + filepath.Join(dir, "sock"),
		"--pid-file=" + filepath.Join(dir, "pid"),
		"--init-file=" + filepath.Join(dir, "init.sql"),
		"--skip-name-resolve",
		"--performance-schema=OFF",
		"--key-buffer-size=1M",
		"--loose-aria-pagecache-buffer-size=1M", // MySQL has none
		"--max-connections=500",
		"--max-connect-errors=1000000",
		"--thread-cache-size=16",
	}
}

// ready reads the greeting that the server speaks first: protocol version 10 after the packet's
// four-byte head.
func (mariaDB) ready(addr string) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	var head [5]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	if head[4] != 10 {
		return fmt.Errorf("greeting of protocol %d, want 10", head[4])
	}
	return nil
}

func (mariaDB) dsn(addr, db string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s?parseTime=true", User, Password, addr, db)
}

func (mariaDB) client(host, port, db, statement string) *exec.Cmd {
	cmd := exec.Command("mariadb", "--no-defaults", "--protocol=tcp",
		"--host="+host, "--port="+port, "--user="+User,
		"--batch", "--skip-column-names", "--default-character-set=utf8mb4",
		"--execute="+statement, db)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+Password)
	return cmd
}

// find returns the path of a server program: from PATH, else from where distributions put programs
// that are not for every user's PATH.
func find(name string, dirs ...string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, pattern := range append(dirs, "/usr/sbin", "/usr/local/sbin", "/usr/libexec") {
		paths, _ := filepath.Glob(filepath.Join(pattern, name))
		if len(paths) > 0 {
			return paths[len(paths)-1], nil
		}
	}
	return "", fmt.Errorf("%w: %s not found in PATH", ErrNoServer, strings.TrimSpace(name))
}
