package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
)

const maxWorker = 1023

// roots has the root of each test, by its testing.TB, and how many there are.
var roots struct {
	sync.Mutex
	of map[testing.TB]string
}

// root returns a root of the test's own, also when a test runs several times.
func root(tb testing.TB) string {
	roots.Lock()
	defer roots.Unlock()
	if roots.of == nil {
		roots.of = map[testing.TB]string{}
	}
	if roots.of[tb] == "" {
		roots.of[tb] = fmt.Sprintf("/tests/%d-%s",
			len(roots.of), strings.NewReplacer("/", "-", "#", "-").Replace(tb.Name()))
	}
	return roots.of[tb]
}

// open returns an Assigner on the server at addr that is closed when the test ends. Root defaults
// to the test's own, SessionTimeout to 5 s.
func open(tb testing.TB, addr string, o zookeeper.Options) *zookeeper.Assigner {
	tb.Helper()
	if o.Root == "" {
		o.Root = root(tb)
	}
	if o.SessionTimeout == 0 {
		o.SessionTimeout = 5 * time.Second
	}
	a, err := zookeeper.New([]string{addr}, &o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { a.Close() })
	return a
}

// within returns a ctx that ends d after now.
func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}

// claim makes a claim, which has to work.
func claim(tb testing.TB, a assigner.Assigner) assigner.Claim {
	tb.Helper()
	c, err := a.Assign(within(tb, time.Minute), maxWorker)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func wantWorker(tb testing.TB, c assigner.Claim, want int64) {
	tb.Helper()
	if got := c.Worker(); got != want {
		tb.Errorf("worker %d, want %d", got, want)
	}
}

// release gives back what lies after used, which has to work as soon as ZooKeeper can be reached.
func release(tb testing.TB, c assigner.Claim, used time.Time) {
	tb.Helper()
	persist(tb, func(ctx context.Context) error { return c.Release(ctx, used) })
}

// extend moves the window's end to until, which has to work as soon as ZooKeeper can be reached.
func extend(tb testing.TB, c assigner.Claim, until time.Time) {
	tb.Helper()
	persist(tb, func(ctx context.Context) error {
		got, err := c.Extend(ctx, until)
		if err == nil && got.Before(until) {
			tb.Errorf("Extend(%v) = %v and no error", until, got)
		}
		return err
	})
}

// persist calls f again while ZooKeeper is unavailable: a client that lost its connection may need
// a second to notice that the server is back.
func persist(tb testing.TB, f func(context.Context) error) {
	tb.Helper()
	ctx := within(tb, time.Minute)
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, zookeeper.ErrUnavailable) || ctx.Err() != nil {
			tb.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func until(c assigner.Claim) time.Time {
	_, u := c.Window()
	return u
}

func from(c assigner.Claim) time.Time {
	f, _ := c.Window()
	return f
}

// wallClock is a local clock that tests set.
type wallClock struct {
	mu    sync.Mutex
	shift time.Duration
}

func (w *wallClock) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.shift)
}

// step moves the clock on, or back if d is negative.
func (w *wallClock) step(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shift += d
}

// stretch is the part of a claim's window that was used.
type stretch struct {
	worker      int64
	from, until time.Time
	who         string
}

// ledger collects what all claims of a test used, and tells if any two shared an instant of one
// worker id.
type ledger struct {
	mu  sync.Mutex
	all []stretch
}

func (l *ledger) add(c assigner.Claim, used time.Time, who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, stretch{c.Worker(), from(c), used, who})
}

// check fails the test if two stretches of one worker id overlap, and returns how many there are.
func (l *ledger) check(tb testing.TB) int {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.all, func(a, b stretch) int {
		if a.worker != b.worker {
			return int(a.worker - b.worker)
		}
		return a.from.Compare(b.from)
	})
	for i := 1; i < len(l.all); i++ {
		a, b := l.all[i-1], l.all[i]
		if a.worker == b.worker && b.from.Before(a.until) {
			tb.Errorf("worker %d: %s has [%v, %v) and %s has [%v, %v)", a.worker, a.who, a.from,
				a.until, b.who, b.from, b.until)
		}
	}
	return len(l.all)
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
