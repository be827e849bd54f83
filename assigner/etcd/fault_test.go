package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/winlog"
)

// client returns a client of its own.
func client(tb testing.TB, s *dbtest.Server) *clientv3.Client {
	tb.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// TestOutage: a claim outlives a server that is killed, paused or cut off, and Extend and Assign go
// on when it is back.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := dbtest.Etcd(t)
	proxy := dbtest.NewProxy(t, s.Addr())
	fault := func(f dbtest.Fault) func() error { return func() error { proxy.Set(f); return nil } }
	a := open(t, proxy.Addr(), "a", lease.Options{})
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
		_, err := c.Extend(within(t, 300*time.Millisecond), end.Add(time.Minute))
		if err == nil || errors.Is(err, assigner.ErrClaimLost) || !until(c).Equal(end) {
			t.Errorf("%s: Extend = %v, and the window ends at %v, want an error and %v",
				o.name, err, until(c), end)
		}
		started := make(chan assigner.Claim, 1)
		go func() {
			c, err := a.Assign(within(t, 30*time.Second), maxWorker)
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
}

// TestAnswerCut: the connection breaks before or after a write reaches etcd, and the claim is still
// extended.
func TestAnswerCut(t *testing.T) {
	t.Parallel()
	s := servers.Etcd(t)
	proxy := dbtest.NewProxy(t, s.Addr())
	a := open(t, proxy.Addr(), s.Prefix(), lease.Options{})
	c := assign(t, a)
	for _, f := range []dbtest.Fault{dbtest.CutBeforeRequest, dbtest.CutBeforeReply, dbtest.CutAfterRequest} {
		for range 3 {
			hits := proxy.Hits()
			proxy.SetOnce(f, func(b []byte) bool { return bytes.Contains(b, []byte("until_ms")) })
			extend(t, c, time.Minute)
			if proxy.Hits() == hits {
				t.Errorf("fault %v was not met", f)
			}
			proxy.Set(dbtest.None)
		}
	}
	if err := c.Release(t.Context(), until(c)); err != nil {
		t.Error(err)
	}
}

// TestCompacted: a compaction of all revisions takes nothing that a claim needs.
func TestCompacted(t *testing.T) {
	t.Parallel()
	s := dbtest.Etcd(t)
	c := assign(t, open(t, s.Addr(), "a", lease.Options{}))
	extend(t, c, time.Minute)
	cl := client(t, s)
	resp, err := cl.Get(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Compact(t.Context(), resp.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	extend(t, c, time.Minute)
}

// TestRestored: etcd is restored to an older state and counts revisions from there again. Another
// process claims the slot, so that the slot may have the revision that the owner knows. The owner
// finds out nevertheless.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := dbtest.Etcd(t)
	const window = time.Hour
	first := assign(t, open(t, s.Addr(), "a", lease.Options{}))
	do(t, func() error { return first.Release(t.Context(), time.Now().Add(-time.Minute)) })
	restore, err := s.Backup()
	if err != nil {
		t.Fatal(err)
	}
	var log winlog.Log
	put := func(n int64, c assigner.Claim) {
		log.Put(winlog.Window{Claim: n, Worker: c.Worker(), From: from(c), Until: until(c)})
	}
	a := open(t, s.Addr(), "a", lease.Options{Window: window, Owner: "the owner"})
	b := open(t, s.Addr(), "a", lease.Options{Window: window, Owner: "another"})
	taken, gone := assign(t, a), assign(t, b)
	if taken.Worker() != 0 || gone.Worker() != 1 {
		t.Fatalf("worker ids %d and %d, want 0 and 1", taken.Worker(), gone.Worker())
	}
	do(t, restore)
	stranger := assign(t, open(t, s.Addr(), "a", lease.Options{Owner: "a stranger"}))
	if stranger.Worker() != taken.Worker() {
		t.Fatalf("the stranger has worker %d, want the forgotten %d", stranger.Worker(), taken.Worker())
	}
	for name, lost := range map[string]struct {
		a *lease.Assigner
		c assigner.Claim
		n int64
	}{"taken": {a, taken, 1}, "gone": {b, gone, 2}} {
		end := until(lost.c)
		_, err := lost.c.Extend(within(t, 20*time.Second), end.Add(window))
		if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("%s: Extend = %v, want ErrClaimLost and ErrWentBack", name, err)
		}
		next := assign(t, lost.a)
		if from(next).Before(end) || from(next).Before(time.Now().Add(window-time.Minute)) {
			t.Errorf("%s: the next window begins at %v, want a Window from now and not before %v",
				name, from(next), end)
		}
		if name == "gone" { // the stranger may have stamped in the window of the other claim
			put(lost.n, lost.c)
		}
		put(lost.n+10, next)
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestChaos: processes start, extend, crash and release while network and server fail. No two of
// them ever have an instant of one worker id in common.
func TestChaos(t *testing.T) {
	t.Parallel()
	s := dbtest.Etcd(t)
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

// live is one run of a process: it claims, extends a few times, and crashes or releases. All that
// its windows ever covered counts as used, unless it was released.
func live(t *testing.T, addr string, stop time.Time, log *winlog.Log, claims *atomic.Int64) {
	number := claims.Add(1)
	o := &etcd.Options{Namespace: "/chaos", Lease: lease.Options{Window: time.Second}}
	a, err := etcd.Open(at(addr), o)
	if err != nil {
		t.Error(err)
		return
	}
	defer a.Close()
	ctx, cancel := context.WithDeadline(t.Context(), stop.Add(time.Second))
	defer cancel()
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
		if err != nil && attempt.Err() == nil && errors.Is(err, assigner.ErrWentBack) {
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
