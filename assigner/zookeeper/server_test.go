package zookeeper_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/winlog"
)

const maxWorker = 1<<10 - 1

// servers has one ZooKeeper for the tests that do no harm to it. Each of them takes a namespace of
// its own.
var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// open returns an Assigner on the ZooKeeper at an address. It is closed twice when the test ends.
func open(tb testing.TB, addr, namespace string, o lease.Options) *lease.Assigner {
	tb.Helper()
	a, err := zookeeper.Open([]string{addr}, &zookeeper.Options{Namespace: "/" + namespace, Lease: o})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for range 2 {
			if err := a.Close(); err != nil {
				tb.Error(err)
			}
		}
	})
	return a
}

// openStore returns the Store of a namespace. Its sessions end after 400 ms of silence.
func openStore(tb testing.TB, addr, namespace string) lease.Store {
	tb.Helper()
	s, end, err := zookeeper.NewStore(addr, "/"+namespace, 400*time.Millisecond)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(end)
	return s
}

// shifted is a Store whose clock is wrong.
type shifted struct {
	lease.Store
	by atomic.Int64
}

func (s *shifted) Now(ctx context.Context) (time.Time, error) {
	now, err := s.Store.(assigner.Clock).Now(ctx)
	return now.Add(time.Duration(s.by.Load())), err
}

// at makes the time of an entry wrong.
func (s *shifted) at(e lease.Entry) lease.Entry {
	if !e.At.IsZero() {
		e.At = e.At.Add(time.Duration(s.by.Load()))
	}
	return e
}

func (s *shifted) List(ctx context.Context) ([]lease.Entry, error) {
	all, err := s.Store.List(ctx)
	for i := range all {
		all[i] = s.at(all[i])
	}
	return all, err
}

func (s *shifted) Get(ctx context.Context, name string) (lease.Entry, error) {
	e, err := s.Store.Get(ctx, name)
	return s.at(e), err
}

func (s *shifted) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	e, err := s.Store.Put(ctx, old, value)
	return s.at(e), err
}

func (s *shifted) step(d time.Duration) { s.by.Add(int64(d)) }

// newAssigner returns an Assigner on a Store.
func newAssigner(tb testing.TB, s lease.Store, o lease.Options) *lease.Assigner {
	tb.Helper()
	a, err := lease.New(s, &o)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// raw returns a client of the library.
func raw(tb testing.TB, addr string) *zk.Conn {
	tb.Helper()
	c, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// assign claims a worker id.
func assign(tb testing.TB, a assigner.Assigner) assigner.Claim {
	tb.Helper()
	c, err := a.Assign(within(tb, time.Minute), maxWorker)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// wantWorker claims a worker id and fails the test if it is another one.
func wantWorker(tb testing.TB, a assigner.Assigner, want int64) assigner.Claim {
	tb.Helper()
	c := assign(tb, a)
	if c.Worker() != want {
		tb.Errorf("worker %d, want %d", c.Worker(), want)
	}
	return c
}

// extend makes a claim's window longer by d, which has to work as soon as ZooKeeper can be reached.
func extend(tb testing.TB, c assigner.Claim, d time.Duration) {
	tb.Helper()
	to := until(c).Add(d)
	do(tb, persist(within(tb, time.Minute), func(ctx context.Context) error {
		_, err := c.Extend(ctx, to)
		return err
	}))
	if until(c).Before(to) {
		tb.Errorf("after Extend(%v) the window ends at %v", to, until(c))
	}
}

// persist returns a step that calls f until it succeeds, is refused or ctx ends. A client needs a
// while to notice that its server is back.
func persist(ctx context.Context, f func(context.Context) error) func() error {
	return func() error {
		for {
			err := f(ctx)
			if err == nil || ctx.Err() != nil || lost(err) {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func from(c assigner.Claim) time.Time  { from, _ := c.Window(); return from }
func until(c assigner.Claim) time.Time { _, until := c.Window(); return until }

// logged returns the window of a claim, which is the n-th of a log.
func logged(n int64, c assigner.Claim) winlog.Window {
	return winlog.Window{Claim: n, Worker: c.Worker(), From: from(c), Until: until(c)}
}

// within returns a context that ends after d.
func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}

// do fails the test if one of the steps fails.
func do(tb testing.TB, steps ...func() error) {
	tb.Helper()
	for _, step := range steps {
		if err := step(); err != nil {
			tb.Fatal(err)
		}
	}
}
