package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain makes the test binary the command, where a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("UIDRING_BENCH_COMMAND") == "" {
		os.Exit(m.Run())
	}
	main()
}

// What cannot be measured is an error that names the flags.
func TestSuites(t *testing.T) {
	t.Parallel()
	for _, suites := range []string{"anchors", "keys,anchors", "none"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-quick", "-suite", suites)
		cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "UIDRING_BENCH_COMMAND=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "-suite") || !strings.Contains(string(out), "-anchors") {
			t.Errorf("-suite %s: %v: %s", suites, err, out)
		}
	}
}
