package zookeeper_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a ZooKeeper of its own in a Java process, on a loopback port and a temporary directory.
type server struct {
	tb   testing.TB // nil for the shared one
	dir  string
	addr string
	out  bytes.Buffer // of all runs; read when none runs
	proc *os.Process
	done chan struct{} // closed when proc has ended
}

// jars is where Debian's packages zookeeper, libnetty-java and so on put what the server needs.
const jars = "/usr/share/java"

// classpath names the jars without which ZooKeeper 3.8 does not start, and slf4j-nop to keep it silent.
func classpath() (string, error) {
	var all []string
	for name := range strings.FieldsSeq(`zookeeper zookeeper-jute slf4j-api slf4j-nop netty-handler netty-common netty-buffer
		netty-transport netty-codec netty-resolver metrics-core snappy-java commons-cli`) {
		path := filepath.Join(jars, name+".jar")
		if _, err := os.Stat(path); err != nil {
			return "", err
		}
		all = append(all, path)
	}
	return strings.Join(all, ":"), nil
}

// launch starts a server in an empty directory.
func launch(dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, addr: l.Addr().String()}
	l.Close()
	_, port, _ := net.SplitHostPort(s.addr)
	config := fmt.Sprintf("tickTime=200\ndataDir=%s/data\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n"+
		"minSessionTimeout=400\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n4lw.commands.whitelist=ruok\n", dir, port)
	if err := os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return s, s.start()
}

// start starts the Java process and waits until it answers.
func (s *server) start() error {
	cp, err := classpath()
	if err != nil {
		return err
	}
	cmd := exec.Command("java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=256", // a killed process loses nothing that the kernel has
		"-cp", cp, "org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(s.dir, "zoo.cfg"))
	cmd.Stdout, cmd.Stderr = &s.out, &s.out
	cmd.SysProcAttr = dieWithParent()
	done, started := make(chan struct{}), make(chan error)
	go func() {
		// The signal of dieWithParent comes when the thread ends that started the process.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(done)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.proc, s.done = cmd.Process, done
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if s.ok() {
			return nil
		}
		select {
		case <-done:
			return fmt.Errorf("zookeeper ended: %s", s.out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.kill()
	return errors.New("zookeeper did not answer within 30 s")
}

// ok asks ZooKeeper if it is well, in its own way.
func (s *server) ok() bool {
	conn, err := net.DialTimeout("tcp", s.addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	io.WriteString(conn, "ruok")
	answer, _ := io.ReadAll(conn)
	return string(answer) == "imok"
}

// kill ends the process as a power cut would, and waits for its end.
func (s *server) kill() {
	s.proc.Kill()
	<-s.done
}

// restart starts the server again on the same port and data.
func (s *server) restart() {
	s.tb.Helper()
	if err := s.start(); err != nil {
		s.tb.Fatal(err)
	}
}

// pause stops the process without ending it, so that its sessions get old, and returns what makes it go on.
func (s *server) pause() (resume func()) {
	s.proc.Signal(syscall.SIGSTOP)
	return func() { s.proc.Signal(syscall.SIGCONT) }
}

// skip explains that there is no ZooKeeper here. Where servers are required that is a failure.
func skip(tb testing.TB, err error) {
	tb.Helper()
	if os.Getenv("UIDRING_REQUIRE_SERVERS") == "1" {
		tb.Fatalf("zookeeper is required: %v", err)
	}
	tb.Skipf("no zookeeper here: %v", err)
}

// newServer starts a server for one test that does harm to it.
func newServer(tb testing.TB) *server {
	tb.Helper()
	s, err := launch(tb.TempDir())
	if err != nil {
		skip(tb, err)
	}
	s.tb = tb
	tb.Cleanup(s.kill)
	return s
}

// shared is the server of all tests that leave it alone; each takes a root of its own.
type shared struct {
	once sync.Once
	s    *server
	dir  string
	err  error
}

func (sh *shared) get(tb testing.TB) *server {
	tb.Helper()
	sh.once.Do(func() {
		if sh.dir, sh.err = os.MkdirTemp("", "uidring-zookeeper-"); sh.err == nil {
			sh.s, sh.err = launch(sh.dir)
		}
	})
	if sh.err != nil {
		skip(tb, sh.err)
	}
	return sh.s
}

func (sh *shared) close() {
	sh.once.Do(func() { sh.err = errors.New("tests are over") })
	if sh.s != nil && sh.err == nil {
		sh.s.kill()
	}
	if sh.dir != "" {
		os.RemoveAll(sh.dir)
	}
}

var zoo shared

func TestMain(m *testing.M) {
	code := m.Run()
	zoo.close()
	os.Exit(code)
}
