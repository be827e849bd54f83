package zookeeper_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/dbtest"
)

// ZooKeeper's request codes, as they are on the wire.
const (
	opCreate = 1
	opSet    = 5
)

// request matches requests with code op on a path that contains part: length, xid, op, then the
// path.
func request(op uint32, part string) func([]byte) bool {
	return func(b []byte) bool {
		return len(b) > 12 && binary.BigEndian.Uint32(b[8:]) == op && strings.Contains(string(b), part)
	}
}

// An answer that got lost says nothing about the write. The claim reads the slot back before it
// concludes anything.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	for _, fault := range []dbtest.Fault{dbtest.CutBeforeRequest, dbtest.CutAfterRequest, dbtest.CutBeforeReply} {
		p := dbtest.NewProxy(t, s.addr)
		a := open(t, p.Addr(), zookeeper.Options{Root: fmt.Sprintf("%s/%d", root(t), fault), Instance: "one"})

		p.SetOnce(fault, request(opCreate, "/slots/w-"))
		c := claim(t, a)
		p.SetOnce(fault, request(opSet, "/slots/w-"))
		asked := until(c).Add(time.Minute)
		if got, err := c.Extend(within(t, 10*time.Second), asked); err != nil || got.Before(asked) {
			t.Errorf("fault %d: Extend = %v, %v, want %v", fault, got, err, asked)
		}
		p.SetOnce(fault, request(opSet, "/slots/w-"))
		used := time.Now().Truncate(time.Second)
		release(t, c, used)
		if _, stored, err := a.ReadSlot(t.Context(), c.Worker()); err != nil || stored.After(used.Add(time.Second)) {
			t.Errorf("fault %d: after Release reserved until %v, %v, want %v", fault, stored, err, used)
		}
		// Taking an existing slot over, with a lost answer. A second slot would mean that the first one
		// was forgotten.
		p.SetOnce(fault, request(opSet, "/slots/w-"))
		wantWorker(t, claim(t, a), c.Worker())
		if fault != dbtest.CutAfterRequest { // there the write may be late, and its slot stays reserved for nobody
			wantWorker(t, c, 0)
		}
		if p.Hits() != 4 {
			t.Errorf("fault %d struck %d times, want 4", fault, p.Hits())
		}
	}
}

// A partition: the owner cannot be extended and says so when the ctx ends; another takes the slot
// when its window has passed; when the network heals, the old owner learns that it lost.
func TestPartition(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	p := dbtest.NewProxy(t, s.addr)
	a := open(t, p.Addr(), zookeeper.Options{Instance: "cut off", SessionTimeout: time.Second})
	c := claim(t, a)
	end := until(c)
	p.Set(dbtest.BlackHole)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begin := time.Now()
		_, err := c.Extend(ctx, end.Add(time.Minute))
		cancel()
		if !errors.Is(err, zookeeper.ErrUnavailable) || errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend in a partition: error %v, want ErrUnavailable", err)
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("Extend took %v, want it to end with its ctx", took)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := a.Assign(ctx, maxWorker); !errors.Is(err, zookeeper.ErrUnavailable) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Assign in a partition: error %v, want ErrUnavailable and the ctx's error", err)
	}
	if !until(c).Equal(end) {
		t.Errorf("the window ends at %v after failed Extends, want %v", until(c), end)
	}
	b := open(t, s.addr, zookeeper.Options{Instance: "other side", MaxSkew: zookeeper.AnySkew})
	b.SetClock((&wallClock{shift: time.Hour}).now)
	d := claim(t, b)
	var ledger ledger
	ledger.add(d, until(d), "other side")
	p.Set(dbtest.None)
	err := zookeeper.ErrUnavailable
	for ctx := within(t, time.Minute); errors.Is(err, zookeeper.ErrUnavailable) &&
		ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		_, err = c.Extend(ctx, end.Add(2*time.Minute))
	}
	if err == nil {
		// What was sent into the black hole may have come out first; then the slot never changed hands.
		if d.Worker() == c.Worker() {
			t.Errorf("Extend succeeded after worker %d was taken over", c.Worker())
		}
	} else if !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend after the partition: error %v, want ErrClaimLost", err)
	}
	ledger.add(c, until(c), "cut off")
	ledger.check(t)
	// And a new claim works.
	e := claim(t, open(t, p.Addr(), zookeeper.Options{Instance: "again", MaxSkew: zookeeper.AnySkew}))
	ledger.add(e, until(e), "again")
	ledger.check(t)
}

// The server is killed and comes back with its data: the claim goes on, and so does the Assigner,
// without a restart.
func TestKilledAndRestarted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	a := open(t, s.addr, zookeeper.Options{Instance: "one", SessionTimeout: 2 * time.Second})
	c := claim(t, a)
	end := until(c)
	s.kill()
	if _, err := c.Extend(within(t, 300*time.Millisecond),
		end.Add(time.Minute)); !errors.Is(err, zookeeper.ErrUnavailable) {
		t.Errorf("Extend without a server: error %v, want ErrUnavailable", err)
	}
	if err := c.Release(within(t, 300*time.Millisecond), time.Time{}); !errors.Is(err, zookeeper.ErrUnavailable) {
		t.Errorf("Release without a server: error %v, want ErrUnavailable", err)
	}
	// A start without a cache file waits for ZooKeeper, and goes on when it is there.
	started := make(chan assigner.Claim)
	go func() {
		d, err := open(t, s.addr, zookeeper.Options{Instance: "two"}).Assign(within(t, time.Minute), maxWorker)
		if err != nil {
			t.Errorf("a start that waits for ZooKeeper: %v", err)
		}
		started <- d
	}()
	s.restart()
	if d := <-started; d != nil {
		wantWorker(t, d, 1)
	}
	release(t, c, time.Time{})
	wantWorker(t, claim(t, a), 0)
}

// The session expires while the server is stopped. The claim does not depend on it: the next Extend
// works, and the ephemeral node is there again.
func TestSessionExpired(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	a := open(t, s.addr, zookeeper.Options{Instance: "one", SessionTimeout: 400 * time.Millisecond})
	watcher := open(t, s.addr, zookeeper.Options{SessionTimeout: 20 * time.Second})
	c := claim(t, a)
	w := claim(t, watcher)
	release(t, w, time.Time{})
	resume := s.pause()
	_, err := c.Extend(within(t, 1200*time.Millisecond), until(c).Add(time.Minute))
	resume()
	if err != nil && !errors.Is(err, zookeeper.ErrUnavailable) {
		t.Errorf("Extend while the server is stopped: error %v, want ErrUnavailable", err)
	}
	extend(t, c, until(c).Add(2*time.Minute))
	if n, err := watcher.Peers(t.Context()); err != nil || n != 1 {
		t.Errorf("%d peers after the session expired, %v, want 1", n, err)
	}
}

// Whatever ZooKeeper says at a start reaches the caller. Leaf turns every error into "use the local
// file".
func TestErrorsAreNotHidden(t *testing.T) {
	t.Parallel()
	a := open(t, "127.0.0.1:1", zookeeper.Options{CacheFile: t.TempDir() + "/cache"})
	_, err := a.Assign(within(t, 300*time.Millisecond), maxWorker)
	for _, want := range []error{zookeeper.ErrUnavailable, zookeeper.ErrCache, context.DeadlineExceeded} {
		if !errors.Is(err, want) {
			t.Errorf("no server and no cache file: error %v, want it to wrap %v", err, want)
		}
	}
	a.Close()
	a.Close()
	if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, zookeeper.ErrClosed) {
		t.Errorf("Assign after Close: error %v, want ErrClosed", err)
	}
}

// Close ends every goroutine, in every state of the network, soon.
func TestCloseLeavesNothing(t *testing.T) {
	s := zoo.get(t)
	p := dbtest.NewProxy(t, s.addr)
	silent := newSilent(t)
	before := runtime.NumGoroutine()
	for name, addr := range map[string]string{"up": s.addr, "refused": "127.0.0.1:1",
		"silent": silent, "black hole": p.Addr()} {
		a := open(t, addr, zookeeper.Options{SessionTimeout: 2 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		c, _ := a.Assign(ctx, maxWorker)
		if c != nil && name == "black hole" {
			p.Set(dbtest.BlackHole)
			c.Extend(ctx, until(c).Add(time.Hour))
		}
		cancel()
		begin := time.Now()
		a.Close()
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("%s: Close took %v, want about a second at most", name, took)
		}
	}
	p.Close()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
}

// Instances come, stamp, crash and go while the network and the server do their worst. No two of
// them ever have an instant of one worker id in common.
func TestChaos(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const instances = 6
	var ledger ledger
	var wg sync.WaitGroup
	stop := time.Now().Add(4 * time.Second)
	proxies := make([]*dbtest.Proxy, instances)
	for i := range instances {
		proxies[i] = dbtest.NewProxy(t, s.addr)
		clock := &wallClock{shift: time.Duration(rand.N(3000)-1500) * time.Millisecond}
		wg.Go(func() {
			for run := 0; time.Now().Before(stop); run++ {
				live(t, proxies[i].Addr(), fmt.Sprintf("node-%d", i%4), clock, stop, &ledger)
			}
		})
	}
	faults := []dbtest.Fault{dbtest.Refuse, dbtest.CutBeforeRequest, dbtest.CutAfterRequest,
		dbtest.CutBeforeReply, dbtest.BlackHole, dbtest.None}
	killed := false
	for time.Now().Before(stop) {
		p := proxies[rand.N(instances)]
		p.Set(faults[rand.N(len(faults))])
		time.Sleep(rand.N(150 * time.Millisecond))
		p.Set(dbtest.None)
		if !killed && time.Until(stop) < 2*time.Second {
			killed = true
			s.kill()
			s.restart()
		}
	}
	wg.Wait()
	n := ledger.check(t)
	t.Logf("%d claims", n)
	if n < instances {
		t.Errorf("%d claims, want at least one per instance", n)
	}
}

// live is one run of an instance: it claims, extends a few times, and crashes or releases. All that
// its windows ever covered counts as used, unless it was released.
func live(t *testing.T, addr, instance string, clock *wallClock, stop time.Time, l *ledger) {
	a, err := zookeeper.New([]string{addr}, &zookeeper.Options{Root: root(t), Instance: instance, Window: time.Second,
		SessionTimeout: 400 * time.Millisecond, MaxSkew: zookeeper.AnySkew, MaxAhead: time.Hour})
	if err != nil {
		t.Error(err)
		return
	}
	defer a.Close()
	a.SetClock(clock.now)
	ctx, cancel := context.WithDeadline(t.Context(), stop.Add(time.Second))
	defer cancel()
	c, err := a.Assign(ctx, maxWorker)
	if err != nil {
		if !errors.Is(err, zookeeper.ErrUnavailable) {
			t.Errorf("Assign: %v", err)
		}
		return
	}
	for range rand.N(6) {
		attempt, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		_, err := c.Extend(attempt, until(c).Add(rand.N(time.Second)))
		cancel()
		if err != nil && !errors.Is(err, zookeeper.ErrUnavailable) && !errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Extend: %v", err)
		}
	}
	used := until(c)
	if rand.N(2) == 0 {
		used = from(c).Add(used.Sub(clock.now().Add(-2*time.Second)) / 2)
		if used.After(until(c)) || from(c).IsZero() {
			used = until(c)
		}
		attempt, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		c.Release(attempt, used)
		cancel()
	}
	l.add(c, used, instance)
}
