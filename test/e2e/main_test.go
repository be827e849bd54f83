package e2e

import (
	"os"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// servers has the database servers that all tests share.
var servers dbtest.Shared

// TestMain runs the tests, or in a process that a test has started the job of that process: see
// worker_test.go.
func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(worker(os.Getenv(workerEnv)))
	}
	if os.Getenv(numberJobEnv) != "" {
		os.Exit(numberWorker(os.Getenv(numberJobEnv)))
	}
	code := m.Run()
	servers.Close()
	os.Exit(code)
}
