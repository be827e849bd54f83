package uid_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// authority hands out claims whose every call the test answers, and keeps a list of the calls. The
// functions are called without its lock; nil ones say yes.
type authority struct {
	worker      int64
	from, until time.Duration // the first window, counted from when the test begins; 0: open
	assign      func() error
	extend      func(ctx context.Context, asked time.Duration) (time.Duration, error)
	now         func() (time.Time, error)
	release     func(ctx context.Context) error
	hang        *atomic.Bool // while it is set, Now does not answer

	start   time.Time
	mu      sync.Mutex
	assigns []time.Duration // when
	extends []extension
	nows    int
	reads   atomic.Int64 // of the generator's clock
}

// losing returns an authority whose claims, from the beginning to until, are lost at the first
// Extend, and that has no others while down is set.
func losing(until time.Duration) (a *authority, down *atomic.Bool) {
	down = new(atomic.Bool)
	return &authority{from: -1, until: until,
		extend: func(context.Context, time.Duration) (time.Duration, error) { return 0, assigner.ErrClaimLost },
		assign: func() error {
			if down.Load() {
				return errDown
			}
			return nil
		}}, down
}

// extension is a call of Extend: when, and what it asked for.
type extension struct{ at, asked time.Duration }

// instant returns the time that d stands for: the zero time for 0.
func (a *authority) instant(d time.Duration) time.Time {
	if d == 0 {
		return time.Time{}
	}
	return a.start.Add(d)
}

func (a *authority) Assign(context.Context, int64) (assigner.Claim, error) {
	a.mu.Lock()
	a.assigns = append(a.assigns, time.Since(a.start))
	worker := a.worker + int64(len(a.assigns)) - 1
	a.mu.Unlock()
	if a.assign != nil {
		if err := a.assign(); err != nil {
			return nil, err
		}
	}
	return &authorityClaim{a: a, worker: worker, until: a.instant(a.until)}, nil
}

// calls returns what was called so far.
func (a *authority) calls() (assigns []time.Duration, extends []extension, nows int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.assigns), slices.Clone(a.extends), a.nows
}

type authorityClaim struct {
	a      *authority
	worker int64
	until  time.Time // guarded by a.mu
}

func (c *authorityClaim) Worker() int64 { return c.worker }

func (c *authorityClaim) Window() (from, until time.Time) {
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	return c.a.instant(c.a.from), c.until
}

func (c *authorityClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	asked := until.Sub(c.a.start)
	c.a.mu.Lock()
	c.a.extends = append(c.a.extends, extension{time.Since(c.a.start), asked})
	c.a.mu.Unlock()
	var err error
	if c.a.extend != nil {
		asked, err = c.a.extend(ctx, asked)
	}
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	if err == nil && c.a.instant(asked).After(c.until) {
		c.until = c.a.instant(asked)
	}
	return c.until, err
}

func (c *authorityClaim) Release(ctx context.Context, _ time.Time) error {
	if c.a.release != nil {
		return c.a.release(ctx)
	}
	return nil
}

func (c *authorityClaim) Now(ctx context.Context) (time.Time, error) {
	if c.a.hang != nil && c.a.hang.Load() {
		<-ctx.Done()
		return time.Time{}, ctx.Err()
	}
	c.a.mu.Lock()
	c.a.nows++
	c.a.mu.Unlock()
	if c.a.now != nil {
		return c.a.now()
	}
	return time.Now(), nil
}

// withAuthority runs f in a bubble with a generator of the named kind. Nobody takes ids unless f
// does.
func withAuthority(t *testing.T, kind string, a *authority, o uid.Options,
	f func(t *testing.T, g uid.Generator, clock *uid.TestClock)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		clock.OnRead = func() { a.reads.Add(1) }
		a.start = time.Now()
		if o.Layout.TimeBits == 0 {
			o.Layout = bubbleLayout()
		}
		g, err := kinds[kind](t.Context(), a, &o, clock)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		f(t, g, clock)
	})
}

// logged counts log records by their message.
type logged struct {
	mu     sync.Mutex
	counts map[string]int
}

// newLogged returns a logger and what it counts.
func newLogged() (*slog.Logger, *logged) {
	l := &logged{counts: map[string]int{}}
	return slog.New(l), l
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.Message]++
	return nil
}

// of returns how often message was logged.
func (l *logged) of(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[message]
}
