package uid

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/ringbuffer"
)

// MaxSlots bounds the ring, and NoBoost is the BoostPower for the ids of one tick.
const (
	MaxSlots = maxSlots
	NoBoost  = noBoost
)

// ClockBackError is every ErrClockBack.
type ClockBackError = clockBackError

// DefaultEpoch is the default layout's.
var DefaultEpoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// TestClock is a wall clock that tests set forward and back. Its monotonic clock is the real one,
// or the bubble's.
type TestClock struct {
	// If not nil, runs after every reading, on the reader's goroutine; to be set before a
	// generator is made.
	OnRead func()
	Reads  atomic.Int64 // how often it was read
	start  time.Time
	skew   atomic.Int64
	years  atomic.Int64
}

// NewTestClock returns a clock that agrees with time.Now.
func NewTestClock() *TestClock { return &TestClock{start: time.Now()} }

// Step moves the wall clock by d.
func (t *TestClock) Step(d time.Duration) { t.skew.Add(int64(d)) }

// StepYears moves the wall clock by whole years, also by more than a time.Duration holds.
func (t *TestClock) StepYears(n int) { t.years.Add(int64(n)) }

// Now returns the wall time.
func (t *TestClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(t.skew.Load())).AddDate(int(t.years.Load()), 0, 0)
}

func (t *TestClock) read() (time.Time, time.Duration) {
	t.Reads.Add(1)
	wall, mono := t.Now(), time.Since(t.start)
	if t.OnRead != nil {
		t.OnRead()
	}
	return wall, mono
}

// Both is the options of both generators, for tests that make either.
type Both struct {
	Layout                    bitsalloc.Layout
	Eras                      []bitsalloc.Era
	BoostPower, PaddingFactor int
	RunLength, Lanes          int
	ScheduleInterval          time.Duration
	MaxLag, MaxLead           time.Duration
	PutPolicy                 ringbuffer.PutPolicy
	PutFunc                   func(next ID) error
	TakePolicy                TakePolicy
	TakeFunc                  func(ctx context.Context, reason error) error
	Rollback                  Rollback
	SeqStart                  int64
	Clock                     func() (wall time.Time, mono time.Duration)
	Logger                    *slog.Logger
}

// Cached returns what NewCached takes of b, with b's SeqStart.
func (b *Both) Cached() *Options {
	if b == nil {
		return nil
	}
	return &Options{Layout: b.Layout, Eras: b.Eras, BoostPower: b.BoostPower,
		PaddingFactor: b.PaddingFactor, RunLength: b.RunLength, Lanes: b.Lanes,
		ScheduleInterval: b.ScheduleInterval, MaxLag: b.MaxLag, MaxLead: b.MaxLead,
		PutPolicy: b.PutPolicy, PutFunc: b.PutFunc, TakePolicy: b.TakePolicy, TakeFunc: b.TakeFunc,
		Clock: b.Clock, Logger: b.Logger, rollback: b.Rollback, seqStart: b.SeqStart}
}

// Default returns what NewDefault takes of b.
func (b *Both) Default() *DefaultOptions {
	if b == nil {
		return nil
	}
	return &DefaultOptions{Layout: b.Layout, Eras: b.Eras, MaxLead: b.MaxLead, TakePolicy: b.TakePolicy,
		TakeFunc: b.TakeFunc, Rollback: b.Rollback, SeqStart: b.SeqStart, Clock: b.Clock, Logger: b.Logger}
}

// NewCachedAt is NewCached with a clock of the test's.
func NewCachedAt(ctx context.Context, a assigner.Assigner, o *Both, t *TestClock) (*Cached, error) {
	return newCached(ctx, a, o.Cached(), t.read)
}

// NewDefaultAt is NewDefault with a clock of the test's.
func NewDefaultAt(ctx context.Context, a assigner.Assigner, o *Both, t *TestClock) (*Default, error) {
	return newDefault(ctx, a, o.Cached(), t.read, time.Time{})
}

// NewDefaultTicksAt is NewDefaultAt that reads the clock as NewDefault does: through the tick cache.
func NewDefaultTicksAt(ctx context.Context, a assigner.Assigner, o *Both, t *TestClock) (*Default, error) {
	return newDefault(ctx, a, o.Cached(), t.read, time.Now())
}

// Open returns a generator that is closed with the test. In a bubble, which begins before the default
// epoch, the default layout has an epoch before the bubble.
func Open[G Generator](t *testing.T, make func(context.Context, assigner.Assigner, *Both, *TestClock) (G, error),
	a assigner.Assigner, o Both, clock *TestClock) G {
	t.Helper()
	if o.Layout == (bitsalloc.Layout{}) && time.Now().Before(DefaultEpoch) {
		o.Layout.Epoch = time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC)
	}
	g, err := make(t.Context(), a, &o, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// Takers has n goroutines take ids until the generator fails. calls counts the ids, and newest waits
// for the goroutines and returns the largest id.
func Takers(t *testing.T, g Generator, n int) (calls *atomic.Int64, newest func() ID) {
	calls = new(atomic.Int64)
	largest := make([]ID, n)
	var wg sync.WaitGroup
	for k := range largest {
		wg.Go(func() {
			for {
				id, err := g.Next(t.Context())
				if err != nil {
					return
				}
				largest[k] = max(largest[k], id)
				calls.Add(1)
			}
		})
	}
	return calls, func() ID {
		wg.Wait()
		return slices.Max(largest)
	}
}

// PadLocked is a padding run for a goroutine that holds the composer's mutex: a clock's OnRead,
// when the composer read the clock.
func (c *Cached) PadLocked() {
	p := c.composer
	_, p.bounded = p.compose(p.clock.now())
	c.gate.open()
}

// Late returns what is left to do for a call of Next that has loaded the end of its lane's run and
// is stopped there: the add. It returns how many ids that gets.
func (c *Cached) Late() (next func() int) {
	l := c.first
	end := l.end.Load()
	return func() int {
		if _, ok := l.take(end); ok {
			return 1
		}
		return 0
	}
}

// Refill is a refill for a call that found its lane used up. It returns how many runs that gets.
func (c *Cached) Refill() int {
	runs, _, _ := c.refill(c.first, 0, make([]int64, 1), 1)
	return runs
}

// LatePad is the padding run of a caller that looked whether the generator was closed before it
// was.
func (c *Cached) LatePad() error {
	_, err := c.composer.fill()
	return err
}

// Empty takes what ring and lanes hold, and composes nothing.
func (c *Cached) Empty() {
	c.composer.mu.Lock()
	defer c.composer.mu.Unlock()
	c.composer.lockLanes()
	defer c.composer.unlockLanes()
	c.composer.dropAll()
}

// fillAll composes until the ring is full or a bound stops it, and returns the bound.
func (p *composer) fillAll() error {
	_, err := p.fillWhile(func() bool { return true })
	return err
}

// StopPadder ends the padder, so that only callers compose.
func (c *Cached) StopPadder() {
	c.stop()
	c.wg.Wait()
}
