package dbtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// MySQL56 starts a fresh server of Oracle's MySQL 5.6 for one test, or skips the test. Each arg is
// passed on to mysqld. Its InnoDB forgets AUTO_INCREMENT at a restart, which no current server
// does. The server is the one that "make mysql" has fetched, which runs on Linux with amd64 only.
func MySQL56(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, mySQL56{mariaDB{args}})
}

// mySQL56 differs from mariaDB in how it is installed: its programs are in a folder of this
// repository and find nothing by themselves.
type mySQL56 struct{ mariaDB }

func (mySQL56) name() string { return "MySQL 5.6" }

func (m mySQL56) common(home, dir string) []string {
	return append(m.mariaDB.common(dir),
		"--innodb-data-file-path=ibdata1:12M:autoextend", // the smallest that it takes
		"--performance-schema=OFF",
		"--basedir="+home,
		"--lc-messages-dir="+filepath.Join(home, "share"),
		"--character-sets-dir="+filepath.Join(home, "share", "charsets"),
	)
}

func (m mySQL56) install(dir string) error {
	home, err := mySQL56Home()
	if err != nil {
		return err
	}
	tables, err := os.ReadFile(filepath.Join(home, "share", "mysql_system_tables.sql"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "data", "mysql"), 0o700); err != nil {
		return err
	}
	cmd := m.program(home, append(m.common(home, dir), "--bootstrap"))
	cmd.Stdin = bytes.NewReader(append([]byte("USE mysql;\n"), tables...))
	if err := run(cmd); err != nil {
		return err
	}
	// CREATE USER fails at the second start; GRANT makes the account where it is missing.
	return writeInit(dir, fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'%%' IDENTIFIED BY '%s' "+
		"WITH GRANT OPTION;\n", User, Password))
}

func (m mySQL56) command(dir string, port int) (*exec.Cmd, error) {
	home, err := mySQL56Home()
	if err != nil {
		return nil, err
	}
	return m.program(home, slices.Concat(m.common(home, dir), m.serve(dir, port), m.args)), nil
}

// program is mysqld with its own libaio, which distributions no longer have under that name.
func (mySQL56) program(home string, args []string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(home, "mysqld"), args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+home)
	return cmd
}

// mySQL56Home returns the folder of the server's programs.
func mySQL56Home() (string, error) {
	program, err := built("mysql/mysqld", "mysql")
	return filepath.Dir(program), err
}
