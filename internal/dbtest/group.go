package dbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Group is three servers that replicate, of which one at a time, the primary, is written to. The
// others are read-only. Its methods are for one goroutine at a time.
type Group struct {
	Servers []*Server
	primary int
	kind    groupKind
}

// groupKind is what differs between the kinds of groups.
type groupKind interface {
	// form makes a group of servers that were started just now.
	form(g *Group) error

	// promote makes a server the primary, or waits until the group has done so, when the last one
	// is down, and has the others follow it.
	promote(g *Group) (primary int, err error)

	// whole waits until the replicas that are up follow the primary, and returns that.
	whole(g *Group) (primary int, err error)

	// rejoin starts a server that was the primary as a replica of the one that is.
	rejoin(g *Group, server int) error
}

// GroupsEnv in the environment, as 1, has the tests of MySQL's groups run. They are skipped
// without: a fail-over takes half a minute, and three servers more than a machine has that runs all
// tests.
const GroupsEnv = "UIDRING_TEST_GROUPS"

// MySQLGroups skips a test of a MySQL group, but for "make groups".
func MySQLGroups(tb testing.TB) {
	tb.Helper()
	if os.Getenv(GroupsEnv) != "1" {
		tb.Skip("skipped: MySQL groups suite: make groups runs it")
	}
}

// groupSize is how many servers a Group has: the least that has a majority without one.
const groupSize = 3

// groupPatience bounds every wait for a group. A group of MySQL takes half a minute for its next
// primary.
const groupPatience = 3 * time.Minute

// Primary returns the primary.
func (g *Group) Primary() *Server { return g.Servers[g.primary] }

// Addrs returns the addresses of the servers with commas in between.
func (g *Group) Addrs() string {
	var all []string
	for _, s := range g.Servers {
		all = append(all, s.Addr())
	}
	return strings.Join(all, ",")
}

// FailOver has the next primary take over, after the caller has ended the old one, and returns when
// it can be written to. No commit that was answered is lost.
func (g *Group) FailOver() error {
	next, err := g.kind.promote(g)
	if err == nil {
		g.primary = next
	}
	return err
}

// Whole waits until every server follows the primary, whichever the group has chosen meanwhile. All
// must be up.
func (g *Group) Whole() error {
	primary, err := g.kind.whole(g)
	if err == nil {
		g.primary = primary
	}
	return err
}

// Rejoin starts a server that is down as a replica.
func (g *Group) Rejoin(s *Server) error {
	for i := range g.Servers {
		if g.Servers[i] == s {
			return g.kind.rejoin(g, i)
		}
	}
	return errors.New("dbtest: the server is of another group")
}

// Close closes the servers.
func (g *Group) Close() {
	for _, s := range g.Servers {
		if s != nil { // one that did not start
			s.Close()
		}
	}
}

// startGroup starts the servers, at once, and makes a group of them.
func startGroup(kind groupKind, flavours ...flavour) (*Group, error) {
	g := &Group{Servers: make([]*Server, len(flavours)), kind: kind}
	errs := make([]error, len(flavours))
	var wg sync.WaitGroup
	for i, f := range flavours {
		wg.Go(func() { g.Servers[i], errs[i] = start(f) })
	}
	wg.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = kind.form(g)
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// testGroup wraps a constructor for tests: the group is closed when the test ends.
func testGroup(tb testing.TB, f flavour, g *Group, err error) *Group {
	tb.Helper()
	if err != nil {
		skip(tb, f, err)
	}
	for _, s := range g.Servers {
		s.closeAfter(tb)
	}
	return g
}

// run runs statements on a server, one connection each, until one fails.
func (s *Server) run(statements ...string) error {
	for _, q := range statements {
		if _, err := s.TryQuery("", q); err != nil {
			return err
		}
	}
	return nil
}

// within calls try until it succeeds, for as long as a group may take.
func within(try func() error) error {
	for end := time.Now().Add(groupPatience); ; time.Sleep(50 * time.Millisecond) {
		if err := try(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// wait waits until a query of the server has the answer want.
func (s *Server) wait(query, want string) error {
	return within(func() error {
		got, err := s.TryQuery("", query)
		if err == nil && got != want {
			err = fmt.Errorf("dbtest: %s: %q, want %q", query, got, want)
		}
		return err
	})
}

// member is a MySQL of a group. Its account and its tables of replication come from an init file
// that writes no binary log.
type member struct {
	mySQL
	later []string // settings from the second start on
}

func newMember(id int, args ...string) *member {
	return &member{mySQL: mySQL{mariaDB{append([]string{
		fmt.Sprint("--server-id=", id), "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
		"--log-bin",
		"--sync-binlog=0", "--report-host=127.0.0.1", "--performance-schema=ON",
		"--innodb-buffer-pool-size=64M", "--plugin-load-add=mysql_clone.so",
		// A replica that loses its source is told of the next one soon.
		"--replica-net-timeout=5",
	}, args...)}}}
}

// The account of replication. The password of a channel is a setting, not a statement of a program.
const replicator = "replicator"

func (m *member) install(dir string) error {
	if err := m.mySQL.install(dir); err != nil {
		return err
	}
	accounts, err := os.ReadFile(filepath.Join(dir, "init.sql"))
	if err != nil {
		return err
	}
	text := "SET SQL_LOG_BIN = 0;\n" + string(accounts) +
		"CREATE USER IF NOT EXISTS " + replicator + "@'%' IDENTIFIED BY '" + Password + "';\n" +
		"GRANT REPLICATION SLAVE, BACKUP_ADMIN, GROUP_REPLICATION_STREAM, CONNECTION_ADMIN ON " +
		"*.* TO " + replicator + "@'%';\n"
	return writeInit(dir, text)
}

func (m *member) command(dir string, port int) (*exec.Cmd, error) {
	cmd, err := m.mySQL.command(dir, port)
	if err == nil {
		cmd.Args = append(cmd.Args, fmt.Sprint("--report-port=", port))
		cmd.Args = append(cmd.Args, m.later...)
	}
	return cmd, err
}

// settle makes what the servers' settings are from their second start on, and empties their init
// files, which a read-only server would refuse.
func (g *Group) settle(later ...string) error {
	var errs []error
	for _, s := range g.Servers {
		s.flavour.(*member).later = later
		errs = append(errs, writeInit(s.dir, "DO 0;\n"))
	}
	return errors.Join(errs...)
}
