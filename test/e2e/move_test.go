package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/stores"
	"github.com/uidring/uidring/uid"
)

// place is an authority, as a process opens it.
type place struct {
	name string
	open func(t testing.TB, o lease.Options) *lease.Assigner
}

// in returns the namespace of a database. dsn has the tables.
func (d dialect) in(dsn, namespace string) place {
	return place{d.name, func(t testing.TB, o lease.Options) *lease.Assigner {
		pool, err := d.connect(t, dsn).DB()
		if err != nil {
			t.Fatal(err)
		}
		name := map[string]string{"MariaDB": "mysql", "PostgreSQL": "postgres", "SQLite": "sqlite"}[d.name]
		s, err := sqlstore.New(pool, name, &sqlstore.Options{Namespace: namespace, Place: d.name})
		if err != nil {
			t.Fatal(err)
		}
		return opened(t, o, func(o lease.Options) (*lease.Assigner, error) { return lease.New(s, &o) })
	}}
}

// opened opens an authority and closes it when the test ends.
func opened(t testing.TB, o lease.Options, open func(lease.Options) (*lease.Assigner, error)) *lease.Assigner {
	a, err := open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// places returns one of each authority. Those of databases are the namespace.
func places(t *testing.T, namespace string) (all []place) {
	for _, d := range dialects {
		all = append(all, d.in(d.migrated(t), namespace))
	}
	zoo, etc, kube := servers.ZooKeeper(t), servers.Etcd(t), dbtest.Kubernetes(t)
	config, err := kube.WriteKubeconfig(kube.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return append(all,
		place{"ZooKeeper", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return stores.ZooKeeper(zoo.DSN("moving"+namespace), o)
			})
		}},
		place{"etcd", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return stores.Etcd(etc.DSN("moving"+namespace), o)
			})
		}},
		place{"Kubernetes", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return kubeconfig.Open("kubernetes:moving"+namespace+"?kubeconfig="+config,
					&kubernetes.Options{Lease: o})
			})
		}})
}

// fleet is processes that take ids as long as they run, whatever authority their worker ids are from. A
// process is replaced by one of the next authority: its ids go on with the new one's first, and only then
// is the old one closed.
type fleet struct {
	t       *testing.T
	window  time.Duration
	wg      sync.WaitGroup
	stop    chan struct{}
	once    sync.Once // closes stop
	seats   []atomic.Pointer[uid.Cached]
	ids     [][]uid.ID   // by seat
	longest atomic.Int64 // how long a process was without ids
	stalled atomic.Int64 // how long one that needs none did not run
}

// newFleet starts n processes.
func newFleet(t *testing.T, p place, n int, window time.Duration) *fleet {
	f := &fleet{t: t, window: window, stop: make(chan struct{}), seats: make([]atomic.Pointer[uid.Cached], n),
		ids: make([][]uid.ID, n)}
	for i := range n {
		f.seats[i].Store(f.start(p))
		f.wg.Go(func() { f.take(i) })
	}
	f.wg.Go(f.watch)
	t.Cleanup(f.halt) // a test that failed has not
	return f
}

// start starts a generator, which waits for a target that is not open yet.
func (f *fleet) start(p place) *uid.Cached {
	g, err := uid.NewCached(f.t.Context(), p.open(f.t, lease.Options{Window: f.window}), nil)
	if err != nil {
		f.t.Error(p.name, err)
	}
	return g
}

// take takes ids until stop is closed. No call may fail.
func (f *fleet) take(i int) {
	last := time.Now()
	for {
		select {
		case <-f.stop:
			return
		default:
		}
		ids := make([]uid.ID, 16)
		n, err := f.seats[i].Load().Fill(f.t.Context(), ids)
		if errors.Is(err, uid.ErrClosed) {
			continue // replaced meanwhile
		}
		if err != nil {
			f.t.Errorf("a process has no id: %v", err)
			return
		}
		f.ids[i] = append(f.ids[i], ids[:n]...)
		raise(&f.longest, time.Since(last))
		last = time.Now()
		time.Sleep(2 * time.Millisecond)
	}
}

// watch measures how long the machine keeps a process waiting that takes no ids.
func (f *fleet) watch() {
	for {
		begin := time.Now()
		select {
		case <-f.stop:
			return
		case <-time.After(2 * time.Millisecond):
			raise(&f.stalled, time.Since(begin))
		}
	}
}

// raise raises a to d, unless it is as high.
func raise(a *atomic.Int64, d time.Duration) {
	for old := a.Load(); old < int64(d) && !a.CompareAndSwap(old, int64(d)); old = a.Load() {
	}
}

// replace replaces all processes by those of an authority.
func (f *fleet) replace(p place) {
	var wg sync.WaitGroup
	for i := range f.seats {
		wg.Go(func() {
			g := f.start(p)
			if g == nil {
				return
			}
			if err := f.seats[i].Swap(g).Close(); err != nil {
				f.t.Error(err)
			}
		})
	}
	wg.Wait()
}

// halt stops the calls of all processes.
func (f *fleet) halt() {
	f.once.Do(func() { close(f.stop) })
	f.wg.Wait()
}

// end stops the processes and fails the test if an id was repeated.
func (f *fleet) end() {
	f.halt()
	for i := range f.seats {
		if err := f.seats[i].Load().Close(); err != nil {
			f.t.Error(err)
		}
	}
	onceEach(f.t, slices.Concat(f.ids...))
	f.t.Logf("%d ids, the longest wait of a process for 16 of them %v", len(slices.Concat(f.ids...)),
		time.Duration(f.longest.Load()))
}

// onceEach fails the test if an id is there twice.
func onceEach(t *testing.T, ids []uid.ID) {
	t.Helper()
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Fatalf("id %d was repeated, of %d", ids[i], len(ids))
		}
	}
}

// brokenMove runs Move, broken off at each step, and once more to its end. The processes of the target are
// started before, and wait.
func brokenMove(t *testing.T, from, to place, window time.Duration) {
	t.Helper()
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		var lines []string
		o := lease.Options{Window: window}
		_, err := lease.Move(ctx, from.open(t, o), to.open(t, o),
			&lease.MoveOptions{MaxWorker: 1<<22 - 1, Report: func(line string) {
				if lines = append(lines, line); len(lines) == n {
					cancel()
				}
			}})
		cancel()
		if err == nil {
			t.Logf("%s to %s, run %d: %q", from.name, to.name, n, lines)
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
}

// TestMoveAuthorities: a universe moves through all authorities, one after the other, and each of them is a
// source and a target once. Its processes take ids all the time. Each move is broken off at every step, and
// no id is repeated. All processes are replaced within half a Window, and no call of them fails.
func TestMoveAuthorities(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	all := places(t, "orders")
	all = append(all, dialects[0].in(dialects[0].migrated(t), "again"))
	f := newFleet(t, all[0], 4, window)
	universe := f.seats[0].Load().Stats().Universe
	for i, to := range all[1:] {
		from := all[i]
		begin := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { brokenMove(t, from, to, window) })
		// A process that is the first on the target would make it a universe of its own.
		look := to.open(t, lease.Options{})
		for {
			if c, err := look.Examine(t.Context()); err != nil {
				t.Fatal(err)
			} else if c.Header {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		f.replace(to)
		wg.Wait()
		if name := f.seats[0].Load().Stats().Universe; name != universe {
			t.Errorf("%s: the universe is called %q, want %q as before", to.name, name, universe)
		}
		took := time.Since(begin)
		t.Logf("%s to %s: all replaced after %v of a Window of %v", from.name, to.name, took, window)
		if took > window/2 {
			t.Errorf("%s to %s: all replaced after %v, want half a Window", from.name, to.name, took)
		}
		_, err := from.open(t, lease.Options{}).Assign(t.Context(), 7)
		if !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("%s: Assign after the move = %v, want ErrMoved", from.name, err)
		}
	}
	f.end()
	longest, stalled := time.Duration(f.longest.Load()), time.Duration(f.stalled.Load())
	if longest > time.Second+stalled {
		t.Errorf("a process had no id for %v, want a second at most; the machine stalled for %v", longest, stalled)
	}
}

// TestMoveDefault: worker ids without an end move with those of the namespace "default". A transaction that
// is inserting one is waited for, starts fail afterwards, and no worker id is reused.
func TestMoveDefault(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.migrated(t)
		db := d.connect(t, dsn)
		used := map[int64]bool{}
		for i := range 4 {
			var a assigner.Assigner = workernode.Leased(db, nil)
			if i%2 == 0 {
				a = workernode.Disposable(db, nil)
			}
			c, err := a.Assign(t.Context(), 1<<22-1)
			if err != nil {
				t.Fatal(err)
			}
			used[c.Worker()] = true
		}
		// The original's statement, in a transaction that is open while the move begins.
		tx := d.connect(t, dsn).Begin()
		const insert = "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) " +
			"VALUES ('java', '1', 2, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"
		late := d.name != "SQLite" // which has one writer at a time
		if late {
			if err := tx.Exec(insert).Error; err != nil {
				t.Fatal(err)
			}
		}
		var open atomic.Bool
		open.Store(late)
		time.AfterFunc(2*time.Second, func() {
			open.Store(false)
			tx.Commit()
		})
		from, to := d.in(dsn, "default"), d.in(dsn, "orders")
		a := from.open(t, lease.Options{})
		moved, err := lease.Move(t.Context(), a, to.open(t, lease.Options{}), &lease.MoveOptions{MaxWorker: 1<<22 - 1})
		if err != nil {
			t.Fatal(err)
		}
		if open.Load() {
			t.Error("Move has returned before the transaction ended")
		}
		if late {
			used[5] = true
		}
		t.Logf("%+v", moved)
		if moved.Copied != 0 || moved.Used < int64(len(used)) {
			t.Errorf("Move = %+v, want %d worker ids used for good at least", moved, len(used))
		}
		_, err = workernode.Disposable(db, nil).Assign(t.Context(), 1<<22-1)
		if !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Disposable after the move = %v, want ErrMoved", err)
		}
		_, err = workernode.Leased(db, nil).Assign(t.Context(), 1<<22-1)
		if !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Leased after the move = %v, want ErrMoved", err)
		}
		if err := db.Exec(insert).Error; err != nil { // the original's next start
			t.Fatal(err)
		}
		var key int64
		if err := db.Raw("SELECT MAX(ID) FROM WORKER_NODE").Scan(&key).Error; err != nil || key <= 1<<22 {
			t.Errorf("the original's next worker id is %d, %v, want one above every layout", key, err)
		}
		b := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders"})
		for range 8 {
			c, err := b.Assign(t.Context(), 1<<22-1)
			if err != nil {
				t.Fatal(err)
			}
			if used[c.Worker()] {
				t.Errorf("worker id %d is reused", c.Worker())
			}
			used[c.Worker()] = true
		}
		_, err = lease.Move(t.Context(), to.open(t, lease.Options{}), a, nil)
		if !errors.Is(err, lease.ErrMoveRefused) {
			t.Errorf("Move back into the namespace default = %v, want it refused", err)
		}
		// WORKER_NODE alone goes back, and the same move stops it again.
		execAll(t, db, "DELETE FROM WORKER_NODE WHERE ID > 100", map[string]string{
			"MariaDB":    "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 100",
			"PostgreSQL": "SELECT SETVAL(PG_GET_SERIAL_SEQUENCE('worker_node', 'id'), 100)",
			"SQLite":     "UPDATE SQLITE_SEQUENCE SET SEQ = 100 WHERE NAME = 'WORKER_NODE'",
		}[d.name])
		if _, err := lease.Move(t.Context(), a, to.open(t, lease.Options{}), nil); err != nil {
			t.Fatal(err)
		}
		_, err = workernode.Disposable(db, nil).Assign(t.Context(), 1<<22-1)
		if !errors.Is(err, assigner.ErrMoved) {
			t.Errorf("Disposable after WORKER_NODE went back and the same move = %v, want ErrMoved", err)
		}
		third := d.in(dsn, "third")
		moved, err = lease.Move(t.Context(), to.open(t, lease.Options{}), third.open(t, lease.Options{}), nil)
		if err != nil || moved.Copied != 8 || moved.Used < int64(len(used)-8) {
			t.Errorf("Move once more = %+v, %v, want 8 slots copied, and the used worker ids", moved, err)
		}
	})
}

// TestMoveRestored: the source is restored to before its move, and the same move seals it again.
func TestMoveRestored(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.migrated(t)
		db := d.connect(t, dsn)
		from, to := d.in(dsn, "orders"), place{"etcd", func(t testing.TB, o lease.Options) *lease.Assigner {
			return opened(t, o, func(o lease.Options) (*lease.Assigner, error) {
				return stores.Etcd(servers.Etcd(t).DSN("restored"+d.name), o)
			})
		}}
		f := newFleet(t, from, 2, time.Minute)
		// Statements of a restore that was planned before the move, with another reach than the header has.
		plan := restored(t, dsn, 100, 48*time.Hour, "--dry-run",
			"--layout", "28-22-13-0/1s@2026-01-01T00:00:00Z")
		execAll(t, db, "CREATE TABLE BACKUP_LEASE AS SELECT * FROM WORKER_LEASE")
		brokenMove(t, from, to, time.Minute)
		f.replace(to)
		execAll(t, db, "DELETE FROM WORKER_LEASE", "INSERT INTO WORKER_LEASE SELECT * FROM BACKUP_LEASE")
		brokenMove(t, from, to, time.Minute)
		for _, when := range []string{"the same move", "statements of a restore that are older than the seal"} {
			if _, err := from.open(t, lease.Options{}).Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
				t.Errorf("Assign after %s = %v, want ErrMoved", when, err)
			}
			execAll(t, db, plan...)
		}
		time.Sleep(100 * time.Millisecond)
		f.end()
	})
}

// TestMoveDeleted: the row of a worker id that is in use was deleted by hand. The worker id is not given out
// in the target of a move, whichever rows were deleted there.
func TestMoveDeleted(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.migrated(t)
		db := d.connect(t, dsn)
		const most = 1<<22 - 1
		assign := func(p place) int64 {
			c, err := p.open(t, lease.Options{}).Assign(t.Context(), most)
			if err != nil {
				t.Fatal(err)
			}
			return c.Worker()
		}
		for _, name := range []string{"fresh", "noted"} {
			from, to := d.in(dsn, "from "+name), d.in(dsn, name)
			used := map[int64]bool{}
			for range 3 {
				used[assign(from)] = true
			}
			execAll(t, db, fmt.Sprintf("DELETE FROM WORKER_LEASE WHERE NAMESPACE = 'from %s' AND WORKER_ID = 1", name))
			if name == "noted" {
				used[assign(to)] = true // which is a worker id of the source, too
				execAll(t, db, "DELETE FROM WORKER_LEASE WHERE NAMESPACE = 'noted' AND WORKER_ID >= -1")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			moved, err := lease.Move(ctx, from.open(t, lease.Options{}), to.open(t, lease.Options{}), nil)
			cancel()
			if err != nil || moved.Copied != 2 || moved.Used != 1 {
				t.Errorf("%s: Move = %+v, %v, want 2 slots copied and one worker id used", name, moved, err)
			}
			for range 4 {
				if worker := assign(to); used[worker] {
					t.Errorf("%s: worker id %d is reused", name, worker)
				}
			}
		}
	})
}
