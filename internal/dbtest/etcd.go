package dbtest

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Etcd starts a fresh etcd server of one member for one test, or skips the test. Each arg is passed
// on to etcd, such as "--cert-file=server.pem". It has no accounts until a test makes them, and
// tests that share it take a prefix each in place of a database: CreateDB and Query do not work.
func Etcd(tb testing.TB, args ...string) *Server {
	tb.Helper()
	return fresh(tb, etcd{args})
}

// NewEtcd is Etcd outside of a test, such as in TestMain. The error wraps ErrNoServer if etcd is
// not installed; the caller calls Close.
func NewEtcd(args ...string) (*Server, error) { return start(etcd{args}) }

type etcd struct{ args []string }

func (etcd) name() string                { return "etcd" }
func (etcd) stopSignal() syscall.Signal  { return syscall.SIGTERM }
func (etcd) deathSignal() syscall.Signal { return syscall.SIGKILL }

// install checks for the program. The server makes its data directory.
func (etcd) install(string) error {
	_, err := find("etcd")
	return err
}

// secure reports whether clients are to use TLS.
func (e etcd) secure() bool {
	return slices.ContainsFunc(e.args, func(a string) bool {
		return strings.HasPrefix(a, "--cert-file")
	})
}

func (e etcd) command(dir string, port int) (*exec.Cmd, error) {
	server, err := find("etcd")
	if err != nil {
		return nil, err
	}
	// A member without peers listens for them all the same; any port will do.
	peers, err := freePort()
	if err != nil {
		return nil, err
	}
	client := "http://127.0.0.1:" + strconv.Itoa(port)
	if e.secure() {
		client = "https" + strings.TrimPrefix(client, "http")
	}
	peer := "http://127.0.0.1:" + strconv.Itoa(peers)
	args := []string{
		"--name=test",
		"--data-dir=" + filepath.Join(dir, "data"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=test=" + peer,
		"--logger=zap",
		"--log-level=warn",
	}
	return exec.Command(server, append(args, e.args...)...), nil
}

// ready asks for the server's health, which is bad until there is a leader. With TLS a connection
// is enough: the first request then waits for the leader.
func (e etcd) ready(addr string) error {
	if e.secure() {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}
	text, err := get("http://" + addr + "/health")
	if err == nil && !strings.Contains(string(text), `"true"`) {
		err = fmt.Errorf("health is %s", text)
	}
	return err
}

func (e etcd) dsn(addr, prefix string) string { return "etcd://" + addr + "/" + prefix }
