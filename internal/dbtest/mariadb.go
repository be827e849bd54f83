package dbtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// MariaDB starts a fresh MariaDB server for one test, or skips the test. Each arg is passed on to mariadbd, such as
// "--auto-increment-increment=2".
func MariaDB(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, err := NewMariaDB(args...)
	return test(tb, mariaDB{}, s, err)
}

// NewMariaDB is MariaDB outside of a test, such as in TestMain. The error wraps ErrNoServer if MariaDB is not
// installed; the caller calls Close.
func NewMariaDB(args ...string) (*Server, error) { return start(mariaDB{args: args}) }

type mariaDB struct{ args []string }

func (mariaDB) name() string                { return "MariaDB" }
func (mariaDB) stopSignal() syscall.Signal  { return syscall.SIGTERM }
func (mariaDB) deathSignal() syscall.Signal { return syscall.SIGKILL }

// common are the settings of both the installation and the server: small files and buffers for a quick start. A commit
// reaches the operating system but not the disk, which is what surviving SIGKILL takes.
func (mariaDB) common(dir string) []string {
	args := []string{
		"--no-defaults",
		"--datadir=" + filepath.Join(dir, "data"),
		"--tmpdir=" + dir, // a server that starts removes the temporary tables of all who share the folder
		"--innodb-buffer-pool-size=16M",
		"--innodb-log-file-size=8M",
		"--innodb-data-file-path=ibdata1:4M:autoextend",
		"--innodb-flush-log-at-trx-commit=2",
		"--skip-log-bin",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

func (m mariaDB) install(dir string) error {
	if _, err := find("mariadbd"); err != nil {
		return err
	}
	installer, err := find("mariadb-install-db")
	if err != nil {
		return err
	}
	// The init file is run at every start, before the first connection is accepted.
	account := fmt.Sprintf("'%s'@'%%'", User)
	initSQL := "CREATE USER IF NOT EXISTS " + account + " IDENTIFIED BY '" + Password + "';\n" +
		"GRANT ALL ON *.* TO " + account + " WITH GRANT OPTION;\n"
	if err := os.WriteFile(filepath.Join(dir, "init.sql"), []byte(initSQL), 0o600); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	args := append(m.common(dir), "--auth-root-authentication-method=normal", "--skip-test-db")
	if out, err := exec.Command(installer, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("dbtest: mariadb-install-db: %w: %s", err, tail(out))
	}
	return nil
}

func (m mariaDB) command(dir string, port int) (*exec.Cmd, error) {
	server, err := find("mariadbd")
	if err != nil {
		return nil, err
	}
	args := append(m.common(dir),
		"--bind-address=127.0.0.1",
		"--port="+strconv.Itoa(port),
		"--socket="+filepath.Join(dir, "sock"),
		"--pid-file="+filepath.Join(dir, "pid"),
		"--init-file="+filepath.Join(dir, "init.sql"),
		"--skip-name-resolve",
		"--performance-schema=OFF",
		"--key-buffer-size=1M",
		"--aria-pagecache-buffer-size=1M",
		"--max-connections=500",
		"--max-connect-errors=1000000",
		"--thread-cache-size=16",
	)
	return exec.Command(server, append(args, m.args...)...), nil
}

// ready reads the greeting that the server speaks first: protocol version 10 after the packet's four-byte head.
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
	cmd := exec.Command("mariadb", "--no-defaults", "--protocol=tcp", "--host="+host, "--port="+port, "--user="+User,
		"--batch", "--skip-column-names", "--default-character-set=utf8mb4", "--execute="+statement, db)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+Password)
	return cmd
}

// find returns the path of a server program: from PATH, else from where distributions put programs that are not for
// every user's PATH.
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
