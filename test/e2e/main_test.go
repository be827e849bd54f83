package e2e

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/uidcommand"
)

// servers has the database servers that all tests share.
var servers dbtest.Shared

// built returns the path of the command uid, which the first call builds. builtIn is its folder.
var (
	builtIn string
	built   = sync.OnceValues(func() (command string, err error) {
		if builtIn, err = os.MkdirTemp("", "uidring-e2e-"); err != nil {
			return "", err
		}
		return uidcommand.Build(context.Background(), builtIn)
	})
)

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
	os.RemoveAll(builtIn)
	os.Exit(code)
}
