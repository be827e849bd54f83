package dbtest

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// MySQL starts a fresh server of the current MySQL for one test, or skips the test. Each arg is
// passed on to mysqld. The server is the one that "make servers" has fetched.
func MySQL(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, mySQL{mariaDB{args}})
}

// mySQL differs from mariaDB in how it is installed: its programs are in a folder of this
// repository, with a data folder to copy.
type mySQL struct{ mariaDB }

func (mySQL) name() string { return "MySQL" }

func (m mySQL) common(home, dir string) []string {
	return append([]string{
		"--no-defaults",
		"--basedir=" + filepath.Join(home, "usr"),
		"--lc-messages-dir=" + filepath.Join(home, "usr/share/mysql"),
		"--plugin-dir=" + filepath.Join(home, "usr/lib/mysql/plugin"),
		"--secure-file-priv=NULL",
		"--mysqlx=OFF",
		"--datadir=" + filepath.Join(dir, "data"),
		"--tmpdir=" + dir,
		"--innodb-buffer-pool-size=32M",
		"--innodb-redo-log-capacity=16M",
		"--innodb-flush-log-at-trx-commit=2",
		"--skip-log-bin",
	}, asRoot()...)
}

func (m mySQL) install(dir string) error {
	home, err := serversHome()
	if err != nil {
		return err
	}
	// Making a data folder takes eight seconds, copying one half a second.
	if err := run(exec.Command("cp", "-R", "--reflink=auto", filepath.Join(home, "../data"),
		filepath.Join(dir, "data"))); err != nil {
		return err
	}
	return writeAccount(dir)
}

func (m mySQL) command(dir string, port int) (*exec.Cmd, error) {
	home, err := serversHome()
	if err != nil {
		return nil, err
	}
	args := slices.Concat(m.common(home, dir), m.serve(dir, port), m.args)
	return exec.Command(filepath.Join(home, "usr/sbin/mysqld"), args...), nil
}

// serversHome returns the folder into which "make servers" unpacks.
func serversHome() (string, error) {
	sums, err := built("servers/sums", "servers")
	return filepath.Join(filepath.Dir(sums), "root"), err
}
