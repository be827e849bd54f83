package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/test/internal/stores"
	"github.com/uidring/uidring/uid"
)

// oldEnv names a test binary of this package, of an older version, whose processes TestMoveProcesses runs
// on the source.
const oldEnv = "UIDRING_MOVE_OLD"

// inEtcd returns a prefix of the shared etcd.
func inEtcd(prefix string) place {
	return place{"etcd", func(t testing.TB, o lease.Options) *lease.Assigner {
		return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
			return stores.Etcd(servers.Etcd(t).DSN(prefix), o)
		})
	}}
}

// TestMoveProcesses: processes that hold worker ids of the namespace "default", with and without an end,
// go on while it is moved away, and new ones take ids of the target. No id is repeated, and no process
// starts on the source any more. With UIDRING_MOVE_OLD the processes of the source are of that version.
func TestMoveProcesses(t *testing.T) {
	onEach(t, moveProcesses)
}

func moveProcesses(t *testing.T, d dialect) {
	exe := os.Args[0]
	if old := os.Getenv(oldEnv); old != "" {
		exe = old
	}
	dsn := d.migrated(t)
	leased := job{DSN: dsn, Window: 3 * time.Second, SeqBits: 16, MaxLead: time.Second}
	disposable := job{DSN: dsn, SeqBits: 16, MaxLead: time.Second}
	l := newLedger(t, leased)
	var running []*process
	for range 2 {
		running = append(running, leased.startAs(t, exe, l), disposable.startAs(t, exe, l))
	}
	for _, p := range running {
		waitFor(t, "ids of every process", func() bool { return l.from(p) > 0 })
	}
	from, to := d.in(dsn, "default"), inEtcd("processes"+d.name)
	moved, err := lease.Move(t.Context(), from.open(t, lease.Options{}), to.open(t, lease.Options{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []job{leased, disposable} {
		p := j.startAs(t, exe, l)
		err := p.wait()
		if err == nil || l.from(p) > 0 {
			t.Errorf("a process that starts on the source = %v with %d ids, want an error", err, l.from(p))
		}
		t.Logf("a process that starts on the source: %v", err)
	}
	young := make([]*uid.Cached, 4)
	for i := range young {
		young[i], err = uid.NewCached(t.Context(), to.open(t, lease.Options{Window: 3 * time.Second}), leased.options())
		if err != nil {
			t.Fatal(err)
		}
		defer young[i].Close()
	}
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
		for i, g := range young {
			ids := make([]uid.ID, batch)
			n, err := g.Fill(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			l.Add(-1-i, ids[:n])
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, p := range running {
		p.kill()
	}
	total, workers := l.check(t)
	t.Logf("%+v; %d ids of %d worker ids, each once", moved, total, workers)
}

// BenchmarkMoveMillions moves a namespace of four million rows of which a hundred are in use, in some
// minutes: go test ./test/e2e -run='^$' -bench=MoveMillions -benchtime=1x -timeout=1h
func BenchmarkMoveMillions(b *testing.B) {
	const rows, chunk = 4_000_000, 20_000
	for range b.N {
		b.StopTimer()
		d := dialects[0]
		dsn := d.migrated(b)
		db := d.connect(b, dsn)
		a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
		assign := func() {
			if _, err := a.Assign(b.Context(), 1<<22-1); err != nil {
				b.Fatal(err)
			}
		}
		assign()
		for first := 1; first < rows; first += chunk {
			for _, row := range []string{
				"seq, 3, 4711, '', 1767225600000 + seq", "-2 - CAST(seq AS SIGNED), 0, 0, '', -1",
			} {
				execAll(b, db, fmt.Sprintf(`INSERT IGNORE INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE,
					OWNER, UNTIL_MS, LAYOUT, CREATED, MODIFIED) SELECT 'orders', %s,
					'', UTC_TIMESTAMP(), UTC_TIMESTAMP() FROM seq_%d_to_%d`, row, first, min(first+chunk, rows)-1))
			}
		}
		for range 99 {
			assign()
		}
		to := inEtcd(fmt.Sprintf("millions%d", time.Now().UnixNano()))
		b.StartTimer()
		moved, err := lease.Move(b.Context(), d.in(dsn, "orders").open(b, lease.Options{}),
			to.open(b, lease.Options{}), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%d rows moved to etcd: %+v", rows, moved)
	}
}
