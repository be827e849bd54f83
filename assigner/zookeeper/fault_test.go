package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/winlog"
)

// ZooKeeper's request codes, as they are on the wire.
const (
	opCreate   = 1
	opExists   = 3
	opGet      = 4
	opSet      = 5
	opPing     = 11
	opChildren = 12
	opSetAuth  = 100
)

// request matches requests with code op on a path that contains part: length, xid, op, then the
// path.
func request(op uint32, part string) func([]byte) bool {
	return func(b []byte) bool {
		return len(b) > 12 && binary.BigEndian.Uint32(b[8:]) == op && strings.Contains(string(b), part)
	}
}

// lost reports whether another try of what failed with err fails as well.
func lost(err error) bool {
	return errors.Is(err, assigner.ErrClaimLost) || errors.Is(err, assigner.ErrWentBack) ||
		errors.Is(err, lease.ErrRefused)
}

// slot returns the slot of a worker id.
func slot(t *testing.T, a *lease.Assigner, worker int64) lease.Slot {
	t.Helper()
	all, err := a.Slots(within(t, 30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Worker == worker {
			return s
		}
	}
	t.Fatalf("no slot of worker %d in %v", worker, all)
	return lease.Slot{}
}

// TestLostAnswer: the connection breaks before or after a write reaches ZooKeeper. The write is found
// again: a claim takes no second slot, and extensions and releases have their effect.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	for _, fault := range []dbtest.Fault{dbtest.CutBeforeRequest, dbtest.CutAfterRequest, dbtest.CutBeforeReply} {
		p := dbtest.NewProxy(t, s.Addr())
		n := s.Prefix()
		a, clear := open(t, p.Addr(), n, lease.Options{}), open(t, s.Addr(), n, lease.Options{})

		p.SetOnce(fault, request(opCreate, "/header"))
		assign(t, a)
		p.SetOnce(fault, request(opCreate, "/used-"))
		c := assign(t, a)
		p.SetOnce(fault, request(opCreate, "/slot-"))
		d := assign(t, a)
		p.SetOnce(fault, request(opSet, "/slot-"))
		extend(t, d, time.Minute)
		p.SetOnce(fault, request(opSet, "/slot-"))
		used := time.Now().Truncate(time.Second)
		do(t, persist(within(t, time.Minute), func(ctx context.Context) error { return d.Release(ctx, used) }))
		if got := slot(t, clear, d.Worker()); got.Owner != "" || !got.Until.Equal(used) {
			t.Errorf("fault %d: after Release %+v, want no owner and %v", fault, got, used)
		}
		// A second slot would mean that the first one was forgotten.
		p.SetOnce(fault, request(opSet, "/slot-"))
		e := assign(t, a)
		if all, err := clear.Slots(t.Context()); err != nil || len(all) > 3 && fault != dbtest.CutAfterRequest ||
			e.Worker() == c.Worker() || fault != dbtest.CutAfterRequest && e.Worker() != d.Worker() {
			t.Errorf("fault %d: worker %d of %d slots, %v, want %d of 3", fault, e.Worker(), len(all), err, d.Worker())
		}
		if p.Hits() != 6 {
			t.Errorf("fault %d struck %d times, want 6", fault, p.Hits())
		}
	}
}

// TestPartition: an owner that is cut off cannot extend its window, and its Extend and Assign end with
// their ctx. Another process takes the worker id when the window has passed. When the network heals,
// the old owner learns that it lost. In Leaf a node never does.
func TestPartition(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, s.Addr())
	n := s.Prefix()
	a := newAssigner(t, openStore(t, p.Addr(), n), lease.Options{Window: time.Second})
	c := assign(t, a)
	end := until(c)
	p.Set(dbtest.BlackHole)
	for range 3 {
		_, err := c.Extend(within(t, 200*time.Millisecond), end.Add(time.Minute))
		if !errors.Is(err, context.DeadlineExceeded) || lost(err) {
			t.Errorf("Extend in a partition: %v, want ctx's error", err)
		}
	}
	if c, err := a.Assign(within(t, 100*time.Millisecond), maxWorker); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Assign in a partition = %v, %v, want ctx's error", c, err)
	}
	if !until(c).Equal(end) {
		t.Errorf("the window ends at %v after failed Extends, want %v", until(c), end)
	}
	time.Sleep(time.Until(end))
	var log winlog.Log
	d := assign(t, open(t, s.Addr(), n, lease.Options{}))
	log.Put(logged(1, d))
	p.Set(dbtest.None)
	err := persist(within(t, time.Minute), func(ctx context.Context) error {
		_, err := c.Extend(ctx, end.Add(2*time.Minute))
		return err
	})()
	if err == nil {
		// What was sent into the black hole may have come out first; then the slot never changed hands.
		if d.Worker() == c.Worker() {
			t.Errorf("Extend succeeded after worker %d was taken over", c.Worker())
		}
	} else if !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend after the partition: %v, want ErrClaimLost", err)
	}
	log.Put(logged(2, c))
	log.Put(logged(3, assign(t, a))) // and a new claim works
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestOutage: a claim outlives a server that is killed, paused until the session is over, or cut off.
// Extend and Assign go on when it is back, without a restart.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := dbtest.ZooKeeper(t)
	proxy := dbtest.NewProxy(t, s.Addr())
	fault := func(f dbtest.Fault) func() error { return func() error { proxy.Set(f); return nil } }
	a := newAssigner(t, openStore(t, proxy.Addr(), "a"), lease.Options{})
	c := assign(t, a)
	for _, o := range []struct {
		name     string
		down, up func() error
	}{
		{"killed", s.Kill, s.Start},
		{"paused", s.Pause, s.Resume},
		{"cut off", fault(dbtest.BlackHole), fault(dbtest.None)},
		{"refused", fault(dbtest.Refuse), fault(dbtest.None)},
	} {
		do(t, o.down)
		end := until(c)
		_, err := c.Extend(within(t, 1200*time.Millisecond), end.Add(time.Minute)) // longer than the session
		if err == nil || lost(err) || !until(c).Equal(end) {
			t.Errorf("%s: Extend = %v, and the window ends at %v, want an error and %v",
				o.name, err, until(c), end)
		}
		started := make(chan assigner.Claim, 1)
		go func() {
			c, err := a.Assign(within(t, time.Minute), maxWorker)
			if err != nil {
				t.Errorf("%s: Assign: %v", o.name, err)
			}
			started <- c
		}()
		do(t, o.up)
		if d := <-started; d != nil && d.Worker() == c.Worker() {
			t.Errorf("%s: both have worker %d", o.name, c.Worker())
		}
		extend(t, c, time.Minute)
	}
	do(t, s.Kill)
	if err := c.Release(within(t, 300*time.Millisecond), time.Time{}); err == nil || lost(err) {
		t.Errorf("Release without a server: %v, want an error that may pass", err)
	}
	do(t, s.Start, persist(within(t, time.Minute), func(ctx context.Context) error {
		return c.Release(ctx, time.Time{})
	}))
	wantWorker(t, a, c.Worker())
}

// TestErrorsAreNotHidden: what a start meets reaches the caller. Leaf turns every error into "use the
// local file".
func TestErrorsAreNotHidden(t *testing.T) {
	t.Parallel()
	a := open(t, "127.0.0.1:1", "x", lease.Options{})
	_, err := a.Assign(within(t, 2*time.Second), maxWorker)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("no server: %v, want ctx's error and the server", err)
	}
	c := assign(t, open(t, servers.ZooKeeper(t).Addr(), servers.ZooKeeper(t).Prefix(), lease.Options{}))
	for range 2 {
		a.Close()
	}
	if _, err := a.Assign(t.Context(), maxWorker); !lost(err) || !strings.Contains(err.Error(), "zookeeper: closed") {
		t.Errorf("Assign after Close: %v, want one that says so", err)
	}
	extend(t, c, time.Minute) // another Assigner's
}

// newSilent returns the address of a server that accepts connections and never says a word.
func newSilent(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l.Addr().String() // the kernel accepts; nobody reads
}

// TestCloseLeavesNothing: Close ends every goroutine, in every state of the network.
func TestCloseLeavesNothing(t *testing.T) {
	s := servers.ZooKeeper(t)
	p := dbtest.NewProxy(t, s.Addr())
	silent := newSilent(t)
	before := runtime.NumGoroutine()
	for name, addr := range map[string]string{"up": s.Addr(), "refused": "127.0.0.1:1",
		"silent": silent, "black hole": p.Addr()} {
		a := open(t, addr, s.Prefix(), lease.Options{})
		ctx := within(t, 300*time.Millisecond)
		c, _ := a.Assign(ctx, maxWorker)
		if c != nil && name == "black hole" {
			p.Set(dbtest.BlackHole)
			c.Extend(ctx, until(c).Add(time.Hour))
		}
		a.Close()
	}
	p.Close()
	for range 500 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// TestChaos: processes start, extend, crash and release while network and server fail. No two of
// them ever have an instant of one worker id in common.
func TestChaos(t *testing.T) {
	t.Parallel()
	s := dbtest.ZooKeeper(t)
	const processes = 6
	var log winlog.Log
	var claims atomic.Int64
	var wg sync.WaitGroup
	stop := time.Now().Add(4 * time.Second)
	proxies := make([]*dbtest.Proxy, processes)
	for i := range processes {
		proxies[i] = dbtest.NewProxy(t, s.Addr())
		wg.Go(func() {
			for time.Now().Before(stop) {
				live(t, proxies[i].Addr(), stop, &log, &claims)
			}
		})
	}
	faults := []dbtest.Fault{dbtest.Refuse, dbtest.CutBeforeRequest, dbtest.CutAfterRequest,
		dbtest.CutBeforeReply, dbtest.BlackHole, dbtest.None}
	killed := false
	for time.Now().Before(stop) {
		p := proxies[rand.N(processes)]
		p.Set(faults[rand.N(len(faults))])
		time.Sleep(rand.N(150 * time.Millisecond))
		p.Set(dbtest.None)
		if !killed && time.Until(stop) < 2*time.Second {
			killed = true
			do(t, s.Kill, s.Start)
		}
	}
	wg.Wait()
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
	if claims.Load() < processes {
		t.Errorf("%d claims, want at least one per process", claims.Load())
	}
	t.Logf("%d claims", claims.Load())
}

// live is one run of a process, whose view of ZooKeeper's clock is off by up to 1.5 s: it claims,
// extends a few times, and crashes or releases. All that its windows ever covered counts as used,
// unless it was released.
func live(t *testing.T, addr string, stop time.Time, log *winlog.Log, claims *atomic.Int64) {
	store, end, err := zookeeper.NewStore(addr, "/chaos", 400*time.Millisecond)
	if err != nil {
		t.Error(err)
		return
	}
	defer end()
	wrong := &shifted{Store: store}
	wrong.step(rand.N(3*time.Second) - 1500*time.Millisecond)
	a, err := lease.New(wrong, &lease.Options{Window: time.Second})
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithDeadline(t.Context(), stop.Add(time.Second))
	defer cancel()
	number := claims.Add(1)
	watched := winlog.Watch(a, func(w winlog.Window) {
		w.Claim = number
		log.Put(w)
	})
	c, err := watched.Assign(ctx, maxWorker)
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("Assign: %v", err)
		}
		return
	}
	for range rand.N(6) {
		attempt, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err := c.Extend(attempt, until(c).Add(rand.N(time.Second)))
		if err != nil && errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend: %v", err)
		}
		cancel()
	}
	if rand.N(2) == 0 {
		attempt, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		_ = c.Release(attempt, until(c).Add(-rand.N(time.Second)))
	}
}
