package workernode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestAssignOnFullDisk fills the disk under a server to the last byte and assigns until the server
// has no room for one more row: Assign waits, and succeeds when there is room again. It needs the
// right to mount a disk; TestAssignFull has the errors without.
func TestAssignOnFullDisk(t *testing.T) {
	dir := dbtest.SmallDisk(t)
	srv := dbtest.MariaDB(t)
	name := srv.CreateDB(t)
	db := connect(t, srv.DSN(name))
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	seen := map[int64]bool{}
	long := strings.Repeat("x", 64)
	for _, kind := range []string{"disposable", "leased"} {
		dbtest.FillDisk(t, full)
		waited := 0
		logger := whenWaiting(func() {
			waited++
			if err := os.Remove(full); err != nil {
				t.Error(err)
			}
		})
		a := workernode.Disposable(db, &workernode.DisposableOptions{Host: long, Port: long, Logger: logger})
		if kind == "leased" {
			a = workernode.Leased(db, &workernode.LeasedOptions{Owner: long + long, Logger: logger})
		}
		for n := 0; waited == 0; n++ {
			c, err := a.Assign(within(t, 30*time.Second), maxWorker)
			if err != nil || n == 5000 {
				t.Fatalf("%s: Assign %d on a full disk = %v, %v", kind, n, c, err)
			}
			if seen[c.Worker()] {
				t.Errorf("%s: worker %d a second time", kind, c.Worker())
			}
			seen[c.Worker()] = true
		}
	}
	t.Logf("%d worker ids", len(seen))
}
