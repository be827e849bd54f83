package workernode_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
)

// TestUnreadable: a row with text where a number belongs is named, keeps no other row from a claim,
// and makes nobody wait for what does not pass.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	db := connect(t, srv.DSN(name))
	ctx := within(t, 20*time.Second)
	claims := assign(t, workernode.Leased(db, &workernode.LeasedOptions{Window: 3 * time.Second}), 3)
	_, end := claims[2].Window()
	for _, s := range []string{
		"ALTER TABLE WORKER_LEASE MODIFY UNTIL_MS VARCHAR(20) NOT NULL, MODIFY NONCE VARCHAR(20) NOT NULL",
		"UPDATE WORKER_LEASE SET UNTIL_MS = 'soon' WHERE WORKER_ID = 1",
		"UPDATE WORKER_LEASE SET NONCE = 'many' WHERE WORKER_ID = 2",
	} {
		srv.Query(t, name, s)
	}
	for i, c := range claims[:2] {
		if _, err := c.Extend(ctx, end.Add(time.Hour)); err == nil || errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend of worker %d, whose row cannot be read = %v, want an error that it "+
				"is not lost for", i+1, err)
		}
	}
	time.Sleep(time.Until(end) + 100*time.Millisecond)
	var log bytes.Buffer
	logged := &workernode.LeasedOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if c, err := workernode.Leased(db, logged).Assign(ctx, maxWorker); err != nil || c.Worker() != 3 {
		t.Errorf("Assign = %v, %v, want worker 3, the only one whose row can be read", c, err)
	}
	wantLog(t, &log, "rows cannot be read and are not claimed",
		`WORKER_LEASE: the row of worker \"1\" in namespace \"default\"`)
	if c := assign(t, workernode.Leased(db, nil), 1)[0]; c.Worker() != 4 { // without a logger
		t.Errorf("worker = %d, want 4, a new one", c.Worker())
	}
	srv.Query(t, name, "ALTER TABLE WORKER_LEASE MODIFY LAYOUT VARCHAR(191) NULL; UPDATE "+
		"WORKER_LEASE SET LAYOUT = NULL WHERE WORKER_ID = -1")
	_, err := workernode.Leased(db, nil).Assign(ctx, maxWorker)
	wantError(t, err, "LAYOUT")
	if ctx.Err() != nil {
		t.Error("took until the ctx ended")
	}
}
