package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// asCommand in the environment makes this test binary the command itself, so that the tests below
// run the real main in a process of its own without building it once more.
const asCommand = "UID_TEST_AS_COMMAND"

// servers are started by the first test that needs them and shared by all that need no settings of
// their own.
var servers dbtest.Shared

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// command returns the command, in an environment with little more than a home folder of its own, and
// that folder.
func command(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = []string{asCommand + "=1", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "TZ=UTC",
		"LocalAppData=" + home, "SystemRoot=" + os.Getenv("SystemRoot")}
	return cmd, home
}

// status returns the exit status of a command that has ended.
func status(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return 0
}

// TestProcessFirstRun: a new user's first command makes an id, and a database that only its owner can
// read.
func TestProcessFirstRun(t *testing.T) {
	t.Parallel()
	cmd, home := command(t, "gen")
	out, err := cmd.CombinedOutput()
	if code := status(t, err); code != exitOK {
		t.Fatalf("status %d: %s", code, out)
	}
	if _, err := uid.ParseID(strings.TrimSuffix(string(out), "\n")); err != nil {
		t.Errorf("printed %q: %v", out, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	info, err := os.Stat(filepath.Join(home, ".cache", "uidring", "uid.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("database: %v, %v, want a file with mode 0600", info, err)
	}
}

// TestProcessStatus: the exit statuses that scripts see.
func TestProcessStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		env  string
		want int
	}{
		{"version", "", exitOK},
		{"gen --bogus", "", exitUsage},
		{"gen -n 0", "", exitUsage},
		{"parse junk", "", exitFailure},
		{"parse 1", "", exitOK},
		{"gen", "HOME=", exitFailure},
		{"gen", "HOME=/dev/null", exitFailure},
		{"gen", "UID_DSN=mysql://me:hunter2@127.0.0.1:1/ids", exitFailure},
		{"gen", "UID_DSN=nonsense", exitUsage},
	} {
		cmd, _ := command(t, strings.Fields(c.args)...)
		cmd.Env = append(cmd.Env, c.env)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		code := status(t, cmd.Run())
		if code != c.want || (code == exitOK) != (stderr.Len() == 0) || strings.Contains(stderr.String(), "hunter2") {
			t.Errorf("%s uid %s = %d, stderr %q, want %d", c.env, c.args, code, &stderr, c.want)
		}
	}
}

// TestProcessHead: a reader that closes the pipe ends the run quietly and at once, however many ids
// were asked for.
func TestProcessHead(t *testing.T) {
	t.Parallel()
	cmd, _ := command(t, "gen", "-n", "1000000000000")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stdout, make([]byte, 20)); err != nil {
		t.Fatal(err)
	}
	if err := stdout.Close(); err != nil {
		t.Fatal(err)
	}
	if code := status(t, cmd.Wait()); code != exitOK || stderr.Len() > 0 {
		t.Errorf("status %d, stderr %q, want 0 and silence", code, &stderr)
	}
}

// TestProcessInterrupt: a signal ends the run with its status, after whole lines with unique ids.
func TestProcessInterrupt(t *testing.T) {
	t.Parallel()
	for sig, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		if signal.Ignored(sig) { // as SIGHUP is under nohup, and so it would be in the new process
			heard := make(chan os.Signal, 1)
			signal.Notify(heard, sig)
			defer signal.Stop(heard)
		}
		cmd, _ := command(t, "gen", "-n", "1000000000000", "--kind", "default")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		deaf := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer deaf.Stop()
		var got bytes.Buffer
		if _, err := io.CopyN(&got, stdout, 4096); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&got, stdout); err != nil {
			t.Fatal(err)
		}
		if code := status(t, cmd.Wait()); code != want || stderr.Len() > 0 {
			t.Errorf("after %v: status %d, stderr %q, want %d and silence", sig, code, &stderr, want)
		}
		if !bytes.HasSuffix(got.Bytes(), []byte("\n")) {
			t.Errorf("after %v the output ends within a line", sig)
		}
		parseIDs(t, result{stdout: got.String()}, decimalForm)
	}
}

// TestProcessInterruptStdin: Ctrl-C ends a parse that waits for input.
func TestProcessInterruptStdin(t *testing.T) {
	t.Parallel()
	cmd, _ := command(t, "parse")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, "1\n"); err != nil {
		t.Fatal(err)
	}
	// The id comes at once, although the input goes on.
	if _, err := io.ReadFull(stdout, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := status(t, cmd.Wait()); code != 130 {
		t.Errorf("status %d, want 130", code)
	}
}

// TestProcessMeter: on a terminal, long work shows a meter and wipes it at the end. It is not among the
// ids.
func TestProcessMeter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		term string
		want bool
	}{{"xterm", true}, {"dumb", false}} {
		// The default generator makes 5,120 ids a second here, so this takes about a second.
		cmd, _ := command(t, "gen", "-n", "5000", "--kind", "default", "--worker", "1", "--layout", "40-10-9-0/100ms")
		cmd.Env = append(cmd.Env, "TERM="+c.term)
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		screen := terminal(t, cmd, nil)
		if got := strings.Contains(screen, "making ids [") && strings.HasSuffix(screen, "\r\x1b[K"); got != c.want {
			t.Errorf("TERM=%s: terminal shows %q, want a meter: %v", c.term, screen, c.want)
		}
		for line := range strings.SplitSeq(screen, "\r") {
			if width := len(strings.TrimSuffix(line, "\x1b[K")); width >= 40 {
				t.Errorf("the meter is %d columns wide, want less than the terminal's 40: %q", width, line)
			}
		}
		if ids := parseIDs(t, result{stdout: stdout.String()}, decimalForm); len(ids) != 5000 {
			t.Errorf("%d ids, want 5000", len(ids))
		}
	}
}

// TestProcessMeterInterrupt: Ctrl-C on the terminal wipes the meter before the process ends.
func TestProcessMeterInterrupt(t *testing.T) {
	t.Parallel()
	cmd, _ := command(t, "gen", "-n", "1000000000", "--kind", "default", "--worker", "1")
	cmd.Stdout = io.Discard
	screen := terminal(t, cmd, func(tty *os.File, screen string) bool {
		if !strings.Contains(screen, "making ids [") {
			return false
		}
		if _, err := tty.WriteString("\x03"); err != nil {
			t.Error(err)
		}
		return true
	})
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.HasSuffix(screen, "\r\x1b[K") {
		t.Errorf("status %d, terminal %q, want 130 and a line that was wiped", code, screen)
	}
}

// terminal runs cmd with stdin and stderr on a terminal of 40 columns and returns what that shows.
// After each piece that is shown, act is called until it returns true.
func terminal(t *testing.T, cmd *exec.Cmd, act func(tty *os.File, screen string) bool) string {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 40})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	defer tty.Close()
	// At Ctrl-C the kernel sends the signal, and then drops output that has not been read: what the
	// process wrote in between would be gone, too.
	stty := exec.CommandContext(t.Context(), "stty", "noflsh")
	stty.Stdin = tty
	if out, err := stty.CombinedOutput(); err != nil {
		t.Logf("stty: %v: %s", err, out)
	}
	var screen strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf)
		screen.Write(buf[:n])
		if err != nil {
			break // EIO on Linux once the process is gone
		}
		if act != nil && act(tty, screen.String()) {
			act = nil
		}
	}
	if err := cmd.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return screen.String()
}

// TestProcessTimeout: the run gives up after --timeout if the database accepts the connection but does
// not answer.
func TestProcessTimeout(t *testing.T) {
	t.Parallel()
	addr := silentServer(t)
	for _, dsn := range []string{"mysql://me:hunter2@" + addr + "/ids", "postgres://me:hunter2@" + addr + "/ids"} {
		cmd, _ := command(t, "gen", "--timeout", "500ms", "--dsn", dsn)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		begin := time.Now()
		code := status(t, cmd.Run())
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("%v until the end, want little more than 500ms", took)
		}
		s := stderr.String()
		if code != exitFailure || !strings.Contains(s, addr) || !strings.Contains(s, "500ms") ||
			strings.Count(s, "deadline exceeded") > 1 || strings.Contains(s, "hunter2") {
			t.Errorf("status %d, stderr %q, want 1 and the address and the timeout, without the password", code, s)
		}
	}
}

// TestProcessConnectionDies: a connection that dies during a statement is reported in one line. The
// driver's own message is suppressed.
func TestProcessConnectionDies(t *testing.T) {
	t.Parallel()
	s := servers.MariaDB(t)
	db := s.CreateDB(t)
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "init", "--dsn", s.DSN(db))
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10", "--dsn", s.DSN(db))
	proxy := dbtest.NewProxy(t, s.Addr())
	proxy.SetOnce(dbtest.CutBeforeReply, func(request []byte) bool {
		return bytes.Contains(request, []byte("LAST_INSERT_ID"))
	})
	cmd, _ := command(t, "segment", "next", "order", "--dsn", s.DSNVia(proxy.Addr(), db))
	out, err := cmd.CombinedOutput()
	if code := status(t, err); code != exitFailure || proxy.Hits() != 1 ||
		!strings.HasPrefix(string(out), "uid: mysql at ") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("status %d after %d cuts, printed %q, want 1 after one and one line", code, proxy.Hits(), out)
	}
}
