package uid_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// runsEnv has TestSimulationKilled start a run that does not end, and wait.
const runsEnv = "UID_TEST_SIMULATION_RUNS"

// TestSimulationKilled kills a process that has started a run of the simulation, as
// TestSimulationRepeats does: the run ends, too.
func TestSimulationKilled(t *testing.T) {
	t.Parallel()
	if os.Getenv(runsEnv) != "" {
		cmd, _, err := simulationRun(context.Background(), "-test.run=^TestSimulation$", "-sim.seed=17",
			"-test.count=100000000")
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("pid", cmd.Process.Pid)
		_ = cmd.Wait()
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("a process that is gone is told by /proc")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	middle := exec.CommandContext(t.Context(), self, "-test.run=^TestSimulationKilled$")
	middle.Env = append(os.Environ(), runsEnv+"=1")
	out, err := middle.StdoutPipe()
	if err == nil {
		err = middle.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "pid %d", &pid)
	}
	if pid == 0 || !running(pid) {
		t.Fatalf("the run %d has not begun", pid)
	}
	if err := middle.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = middle.Wait()
	for begun := time.Now(); running(pid); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			if run, err := os.FindProcess(pid); err == nil {
				_ = run.Kill()
			}
			t.Fatalf("the run %d goes on after the process that has started it was killed", pid)
		}
	}
}

// running reports whether there is such a process which has not ended.
func running(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "State:\tZ")
}
