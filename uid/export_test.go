package uid

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// TestClock is a wall clock that tests set forward and back. Its monotonic clock is the real one, or the bubble's.
type TestClock struct {
	OnRead func() // if not nil, runs behind every reading, on the reader's goroutine; to be set before a generator is made
	start  time.Time
	skew   atomic.Int64
}

// NewTestClock returns a clock that agrees with time.Now.
func NewTestClock() *TestClock { return &TestClock{start: time.Now()} }

// Step moves the wall clock by d.
func (t *TestClock) Step(d time.Duration) { t.skew.Add(int64(d)) }

// Now returns the wall time.
func (t *TestClock) Now() time.Time { return time.Now().Round(0).Add(time.Duration(t.skew.Load())) }

func (t *TestClock) read() (time.Time, time.Duration) {
	wall, mono := t.Now(), time.Since(t.start)
	if t.OnRead != nil {
		t.OnRead()
	}
	return wall, mono
}

// NewCachedAt is NewCached with a clock of the test's.
func NewCachedAt(ctx context.Context, a assigner.Assigner, o *Options, t *TestClock) (*Cached, error) {
	return newCached(ctx, a, o, t.read)
}

// NewDefaultAt is NewDefault with a clock of the test's.
func NewDefaultAt(ctx context.Context, a assigner.Assigner, o *Options, t *TestClock) (*Default, error) {
	return newDefault(ctx, a, o, t.read)
}

// LimitTicks makes lane words tell apart no more than n ticks, so that tenures follow one another quickly. It is to be
// called before the first id is taken.
func (c *Cached) LimitTicks(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codec.ticks = n
}

// PadLocked is a padding run for a goroutine that holds mu: a clock's OnRead, when the composer read the clock.
func (c *Cached) PadLocked() {
	_, c.bounded = c.compose(c.ring.Cap())
	c.gate.open()
}

// Rebase begins a tenure while a caller is between a failed add and the lock of the first lane.
func (c *Cached) Rebase() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tenure.Load().first.word.Add(1)
	c.rebase(c.keeper.grant.Load())
}

// Late returns what is left to do for a caller who has loaded the tenure and is stopped there: Next's add, Fill's take, and a refill if those were
// in vain. Both return how many ids they got.
func (c *Cached) Late() (next, fill func() int) {
	l := c.tenure.Load().first
	return func() int {
			if c.codec.inside(l.word.Add(1)) {
				return 1
			}
			if _, ok := c.refill(l); ok {
				return 1
			}
			return 0
		}, func() int {
			if _, got := l.takeN(&c.codec, 1); got > 0 {
				return 1
			}
			return c.refillN(l, make([]ID, 1))
		}
}

// LatePad is the padding run of a caller who looked whether the generator was closed before it was.
func (c *Cached) LatePad() error { return c.pad() }

// Codec lets tests of the word's arithmetic in.
type Codec = codec

// NewCodec is newCodec.
func NewCodec(timeBits, timeShift, seqBits, runBits, geneBits int) Codec {
	return newCodec(timeBits, timeShift, seqBits, runBits, geneBits)
}

// Fields returns the masks and the number of ticks.
func (k *codec) Fields() (headroom, offMask, runMask uint64, ticks int64) {
	return k.headroom, k.offMask, k.runMask, k.ticks
}

// Word and GeneID are word and geneID.
func (k *codec) Word(tick, seq int64) uint64        { return k.word(tick, seq) }
func (k *codec) GeneID(base int64, w uint64) int64  { return k.geneID(base, w) }
func (k *codec) PlainID(base int64, w uint64) int64 { return k.id(base, w) }
func (k *codec) Left(w uint64) int64                { return k.left(w) }
func (k *codec) Tick(w uint64) int64                { return k.tick(w) }
func (k *codec) UsedUp() uint64                     { return k.usedUp() }
