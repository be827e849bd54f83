package dbtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ZooKeeper starts a fresh ZooKeeper server for one test, or skips the test. Each arg is passed on
// to java, such as "-Dzookeeper.forceSync=yes". Tests that share it take a namespace each in place
// of a database: CreateDB and Query do not work.
func ZooKeeper(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, zooKeeper{args})
}

// NewZooKeeper is ZooKeeper outside of a test, such as in TestMain. The error wraps ErrNoServer if
// it is not installed; the caller calls Close.
func NewZooKeeper(args ...string) (*Server, error) { return start(zooKeeper{args}) }

type zooKeeper struct{ args []string }

// zooJars is where Debian's packages zookeeper, libnetty-java and so on put what the server needs,
// and zooNames what that is: the jars without which ZooKeeper 3.8 does not start, and slf4j-nop to
// keep it silent.
const (
	zooJars  = "/usr/share/java"
	zooNames = `zookeeper zookeeper-jute slf4j-api slf4j-nop netty-handler netty-common netty-buffer
		netty-transport netty-codec netty-resolver metrics-core snappy-java commons-cli`
)

func (zooKeeper) name() string                { return "ZooKeeper" }
func (zooKeeper) stopSignal() syscall.Signal  { return syscall.SIGTERM }
func (zooKeeper) deathSignal() syscall.Signal { return syscall.SIGKILL }
func (zooKeeper) dsn(addr, path string) string {
	return "zookeeper://" + addr + "/" + path
}

func (zooKeeper) install(string) error {
	if _, err := find("java"); err != nil {
		return err
	}
	for name := range strings.FieldsSeq(zooNames) {
		if jar := filepath.Join(zooJars, name+".jar"); !exists(jar) {
			return fmt.Errorf("%w: %s not found", ErrNoServer, jar)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// command has a long listen backlog: beyond the 50 connections of the default, each of a fleet that
// starts at once waits a second until the kernel sends its SYN again.
func (z zooKeeper) command(dir string, port int) (*exec.Cmd, error) {
	config := filepath.Join(dir, "zoo.cfg")
	text := fmt.Sprintf("tickTime=200\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"+
		"admin.enableServer=false\nminSessionTimeout=400\nmaxSessionTimeout=60000\n"+
		"maxClientCnxns=0\nclientPortListenBacklog=1000\n"+
		"4lw.commands.whitelist=mntr\n", filepath.Join(dir, "data"), port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	var jars []string
	for name := range strings.FieldsSeq(zooNames) {
		jars = append(jars, filepath.Join(zooJars, name+".jar"))
	}
	args := []string{
		"-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		// a killed process loses nothing that the kernel has; a lost machine is not what is tested
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=256",
	}
	args = append(append(args, z.args...), "-cp", strings.Join(jars, ":"),
		"org.apache.zookeeper.server.ZooKeeperServerMain", config)
	return exec.Command("java", args...), nil
}

// ready asks for the counters, which ZooKeeper has not until it serves requests.
func (zooKeeper) ready(addr string) error {
	answer, err := ZooKeeperCounters(addr)
	if err == nil && !strings.Contains(answer, "zk_server_state") {
		err = fmt.Errorf("answer %q, want counters", answer)
	}
	return err
}

// ZooKeeperCounters returns what ZooKeeper counts, a line with a name, a tab and a value for each.
func ZooKeeperCounters(addr string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "mntr"); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}
