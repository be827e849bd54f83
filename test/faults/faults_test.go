package faults

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// during injects a fault into a rig at work, waits until the leases have expired, ends the fault, and
// waits until every generator goes on.
func during(t *testing.T, r *rig, harm, heal func()) {
	t.Helper()
	goOn(t, r.users, "before the fault")
	harm()
	goOn(t, r.users[2:], "during the fault, of a worker id that needs no database")
	expire(t, r.leases())
	heal()
	goOn(t, r.users, "after the fault")
	onlyPromised(t, r)
}

// TestNetwork: whatever the network does to the connections for longer than a window, generators
// return ErrClaimExpired, and go on when it is over.
func TestNetwork(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	for name, fault := range map[string]dbtest.Fault{
		"refused":                dbtest.Refuse,
		"cut before the request": dbtest.CutBeforeRequest,
		"cut after the request":  dbtest.CutAfterRequest,
		"cut before the reply":   dbtest.CutBeforeReply,
		"black hole":             dbtest.BlackHole,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, srv)
			during(t, r, func() { r.proxy.Set(fault) }, func() { r.proxy.Set(dbtest.None) })
			if r.proxy.Hits() == 0 {
				t.Error("the fault met no connection")
			}
		})
	}
}

// TestDelay: a slow network delays no id.
func TestDelay(t *testing.T) {
	t.Parallel()
	r := newRig(t, servers.MariaDB(t))
	r.proxy.Delay(50 * time.Millisecond)
	until := r.users[0].g.Stats().WindowUntil
	waitFor(t, "extended window", func() bool {
		return r.users[0].g.Stats().WindowUntil.After(until.Add(window))
	})
	goOn(t, r.users, "over a slow network")
	onlyPromised(t, r)
}

// TestUnknownOutcome: changes of leases are made, and two answers of three are lost. Reading the row
// back tells that they were made, and the change that is answered makes them count. So no worker id
// is lost, and no id is a duplicate.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t, servers.MariaDB(t))
	before := workers(r)
	var changes atomic.Int64
	r.proxy.SetMatching(dbtest.CutBeforeReply, func(b []byte) bool {
		return strings.Contains(string(b), "WORKER_LEASE SET") && changes.Add(1)%3 != 0
	})
	until := r.users[0].g.Stats().WindowUntil
	waitFor(t, "extended windows", func() bool {
		return r.users[0].g.Stats().WindowUntil.After(until.Add(2 * window))
	})
	r.proxy.Set(dbtest.None)
	goOn(t, r.users, "after the fault")
	onlyPromised(t, r)
	if after := workers(r); after != before {
		t.Errorf("worker ids are %v, want %v as before", after, before)
	}
	if r.proxy.Hits() < 2 {
		t.Errorf("the fault was injected %d times, want 2 or more", r.proxy.Hits())
	}
}

// workers returns the worker ids of a rig's leases.
func workers(r *rig) (ids [2]int64) {
	for i, u := range r.leases() {
		ids[i] = u.g.Stats().Worker
	}
	return ids
}

// TestServer kills a server, pauses it and makes it read-only, one after the other.
func TestServer(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	for _, tt := range []struct {
		name       string
		harm, heal func() error
	}{
		{"killed", srv.Kill, srv.Start},
		{"paused", srv.Pause, srv.Resume},
		{"read-only",
			func() error { _, err := srv.TryQuery("", "SET GLOBAL read_only = ON"); return err },
			func() error { _, err := srv.TryQuery("", "SET GLOBAL read_only = OFF"); return err }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, srv)
			do := func(f func() error) func() {
				return func() {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}
			}
			during(t, r, do(tt.harm), do(tt.heal))
		})
	}
}

// TestLockedTables: another session holds the tables, as a schema change or a dump does.
func TestLockedTables(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	r := newRig(t, srv)
	ended := make(chan error, 1)
	during(t, r, func() {
		go func() {
			_, err := srv.TryQuery(r.db, "LOCK TABLES WORKER_LEASE WRITE, WORKER_NODE WRITE; DO SLEEP(4)")
			ended <- err
		}()
	}, func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestFull: every change of the tables fails with an error of a full disk. Triggers raise the errors,
// because on a full disk a server waits or fails at moments that a test cannot choose, and a change
// of so small a row needs no room.
func TestFull(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	for name, code := range map[string]int{
		"ER_DISK_FULL": 1021, "ER_RECORD_FILE_FULL": 1114, "ER_GET_ERRNO": 1030, "ER_ERROR_ON_WRITE": 1026,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, srv)
			during(t, r, func() {
				changes := []string{
					"UPDATE ON WORKER_LEASE", "INSERT ON WORKER_LEASE", "INSERT ON WORKER_NODE",
				}
				for i, change := range changes {
					srv.Query(t, r.db, fmt.Sprintf("CREATE TRIGGER full%d BEFORE %s FOR EACH ROW "+
						"SIGNAL SQLSTATE 'HY000' "+
						"SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'No space left on device'", i, change, code))
				}
			}, func() {
				for i := range 3 {
					srv.Query(t, r.db, fmt.Sprintf("DROP TRIGGER full%d", i))
				}
			})
		})
	}
}
