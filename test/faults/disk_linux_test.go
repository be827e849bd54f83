package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestDisk fills a server's disk to the last byte, for longer than a window. It needs the right to
// mount a disk; TestFull has the errors of a full disk without that. A row that changes in place
// needs no room, so leases may go on. If they do not, callers get the documented errors.
func TestDisk(t *testing.T) {
	dir := dbtest.SmallDisk(t)
	srv := dbtest.MariaDB(t)
	r := newRig(t, srv)
	goOn(t, r.users, "before the disk is full")
	full := filepath.Join(dir, "full")
	dbtest.FillDisk(t, full)
	for end := time.Now().Add(2 * window); time.Now().Before(end); {
		goOn(t, r.users[2:], "on a full disk, of a worker id that needs no database")
		dbtest.FillDisk(t, full) // the room that the server has freed
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
