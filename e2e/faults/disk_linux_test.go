package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestDisk fills the disk under a server, to the last byte, for longer than a window. It needs the
// right to mount one; TestFull has the errors without. A row that changes in its place needs no
// room, so that leases may go on; if they do not, the errors are the promised ones.
func TestDisk(t *testing.T) {
	dir := dbtest.SmallDisk(t)
	srv := dbtest.MariaDB(t)
	r := newRig(t, srv)
	goOn(t, r.users, "before the disk is full")
	full := filepath.Join(dir, "full")
	dbtest.FillDisk(t, full)
	for end := time.Now().Add(2 * window); time.Now().Before(end); {
		goOn(t, r.users[2:], "on a full disk, of a worker id that needs no database")
		dbtest.FillDisk(t, full) // what the server has freed
		time.Sleep(50 * time.Millisecond)
	}
	_, expired := r.users[0].count("expired")
	t.Logf("%d errors of a lease on a full disk", expired)
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	goOn(t, r.users, "after the disk was full")
	onlyPromised(t, r)
}
