package workernode_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestWaitIsLogged: whoever waits for a database says so once, and not with the password.
func TestWaitIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := slog.New(slog.NewTextHandler(&log, nil))
	db := connect(t, "user:"+dbtest.Password+"@tcp(127.0.0.1:1)/x")
	for _, a := range []assigner.Assigner{
		workernode.Disposable(db, &workernode.DisposableOptions{Logger: l}), workernode.Leased(db, &workernode.LeasedOptions{Logger: l}),
	} {
		log.Reset()
		if _, err := a.Assign(within(t, 200*time.Millisecond), maxWorker); err == nil {
			t.Error("Assign without a server succeeded")
		}
		got := log.String()
		if strings.Count(got, "waiting for the database") != 1 || !strings.Contains(got, "127.0.0.1:1") || strings.Contains(got, dbtest.Password) {
			t.Errorf("log = %q, want one line about waiting, with the address and without the password", got)
		}
	}
}
