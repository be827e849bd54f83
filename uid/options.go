package uid

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"runtime"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Values of Options fields whose zero value means the default.
const (
	NoBoost   = -1 // BoostPower: the ring holds one tick's ids
	AutoLanes = -1 // Lanes: picked by the number of processors
)

// The defaults, and the bounds that withDefaults enforces.
const (
	defaultBoostPower    = 3
	defaultPaddingFactor = 50
	defaultRunLength     = 512 // docs/benchmarks.md, tuning: longer runs gain little, shorter ones show in Fill
	defaultMaxJump       = time.Hour

	maxBoostPower = 30
	maxSlots      = 1 << 24 // of the ring: more than a gigabyte
	maxLanes      = 1 << 10
	minInterval   = time.Millisecond
)

// Options of NewCached and NewDefault. A nil *Options and zero fields mean the defaults. Fields marked (Cached) or
// (Default) mean nothing to the other generator, but are checked all the same.
type Options struct {
	// Layout divides the 63 bits. Default: 1-28-22-13, one-second ticks, epoch 2026-01-01T00:00:00Z.
	Layout bitsalloc.Layout

	// BoostPower sizes the ring: (MaxSeq+1) << BoostPower ids. A larger ring rides out longer bursts without help from
	// the caller; 1..30, default 3, NoBoost for the ids of one tick. (Cached)
	BoostPower int

	// PaddingFactor is the percentage of ids left in the ring at which the padder is woken, 1..100, default 50. (Cached)
	PaddingFactor int

	// RunLength is the number of consecutive ids per ring slot, a power of two up to MaxSeq+1. Default: 512, or a
	// quarter of the sequence space if that is less. 1 is the original's design: one slot, one id. (Cached)
	RunLength int

	// Lanes is the number of words that callers spread over, a power of two up to 1,024, default 1: ids strictly increase
	// in the order of the calls. With more lanes they increase per lane only, and throughput grows with the
	// processors. AutoLanes picks by GOMAXPROCS. (Cached)
	Lanes int

	// ScheduleInterval is the longest time between two looks of the padder at the clock; at least 1 ms, and twice
	// the interval plus a tick must fit into MaxLag. Default: a quarter of MaxLag less a tick. (Cached)
	ScheduleInterval time.Duration

	// MaxLag bounds how long before it is handed out an id may have been stamped, given that the padder gets to run
	// when its timer fires. At least Tick + 4 ms. Default: the longer of two ticks and one second. (Cached)
	MaxLag time.Duration

	// MaxLead bounds how far ahead of the clock an id may be composed, in whole ticks rounded down. Ids that are
	// composed when the clock goes back keep their stamps. 0: no bound but the time bits. At the bound TakePolicy decides: Pad and Wait wait for the clock, Reject fails with ErrLead.
	MaxLead time.Duration

	// PutPolicy is what the padder does when a padding run ends at a full ring. Nothing is composed for that, and nothing
	// is lost: Discard, the default, says nothing, Fail counts it in Stats.RejectsPut and logs it. (Cached)
	PutPolicy PutPolicy

	// PutFunc, when not nil, is called in PutPolicy's place, with the id that found no room; an error counts as with
	// Fail. It runs on the padder's goroutine, where a panic ends the process, and must not call Close. (Cached)
	PutFunc func(next ID) error

	// TakePolicy is what a caller gets when no id is ready: Pad, the default, composes some itself; Wait waits for the
	// padder; Reject fails with ErrEmpty. (Cached; Default heeds it at MaxLead only)
	TakePolicy TakePolicy

	// TakeFunc, when not nil, is called in TakePolicy's place, with the reason: ErrEmpty, ErrLead, ErrClaimExpired and so
	// on. Its error is the caller's; after nil the generator tries again. (Cached; Default at MaxLead only)
	TakeFunc func(ctx context.Context, reason error) error

	// Rollback is what a clock that went back gets. The zero value refuses. (Default)
	Rollback Rollback

	// SeqStart bounds the sequence number that a tick starts at: it is spread over 0..SeqStart-1. 1 always starts at zero,
	// as Twitter and Baidu do; 100 is Leaf's choice. Default: half of the sequence space, so that the ids of a quiet
	// service spread evenly over any modulus. At most MaxSeq+1.
	SeqStart int64

	// MaxJump is how far the wall clock may jump ahead of the monotonic clock and be believed at once. A longer jump is
	// held, and reported, until the claim's authority confirms it or it has lasted for ten minutes. Default one hour.
	MaxJump time.Duration

	// NoReassign keeps a generator whose claim is lost from claiming a new worker id. It then fails with
	// ErrClaimLost for good.
	NoReassign bool

	// Logger hears of rare changes of state. Default: silence.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy of o with every field filled in and checked, and the layout's Allocator.
func (o *Options) withDefaults() (Options, *bitsalloc.Allocator, error) {
	var c Options
	if o != nil {
		c = *o
	}
	alloc, err := bitsalloc.New(c.Layout)
	if err != nil {
		return c, nil, fmt.Errorf("%w: Layout: %w", ErrOptions, err)
	}
	c.Layout = alloc.Layout()
	for _, step := range []func(*bitsalloc.Allocator) error{c.fillRing, c.fillTimes, c.fillPolicies} {
		if err := step(alloc); err != nil {
			return c, nil, err
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, alloc, nil
}

// fillRing fills in and checks what shapes the ring and the lanes.
func (o *Options) fillRing(alloc *bitsalloc.Allocator) error {
	space := alloc.MaxSeq() + 1 // at most 1<<62
	switch {
	case o.BoostPower == 0:
		o.BoostPower = defaultBoostPower
	case o.BoostPower == NoBoost:
		o.BoostPower = 0
	case o.BoostPower < 0 || o.BoostPower > maxBoostPower:
		return badOption("BoostPower", o.BoostPower, "1..%d or NoBoost", maxBoostPower)
	}
	if o.PaddingFactor == 0 {
		o.PaddingFactor = defaultPaddingFactor
	}
	if o.PaddingFactor < 1 || o.PaddingFactor > 100 {
		return badOption("PaddingFactor", o.PaddingFactor, "1..100")
	}
	if o.RunLength == 0 {
		o.RunLength = int(max(1, min(defaultRunLength, space/4)))
		// A wide sequence gets longer runs rather than a ring that fills the memory.
		for int64(o.RunLength) < space/4 && o.RunLength <= math.MaxInt/4 && o.slots(alloc) > 1<<12 {
			o.RunLength *= 2
		}
	}
	if o.RunLength < 1 || int64(o.RunLength) > space || bits.OnesCount(uint(o.RunLength)) != 1 {
		return badOption("RunLength", o.RunLength, "a power of two in 1..%d", space)
	}
	if n := o.slots(alloc); n > maxSlots {
		return badOption("BoostPower", o.BoostPower, "a ring of at most %d slots: (MaxSeq+1)<<BoostPower/RunLength is 2^%d",
			maxSlots, bits.Len64(uint64(n))-1)
	}
	switch {
	case o.Lanes == 0:
		o.Lanes = 1
	case o.Lanes == AutoLanes:
		o.Lanes = autoLanes(runtime.GOMAXPROCS(0))
	case o.Lanes < 0 || o.Lanes > maxLanes || bits.OnesCount(uint(o.Lanes)) != 1:
		return badOption("Lanes", o.Lanes, "a power of two in 1..%d or AutoLanes", maxLanes)
	}
	if o.SeqStart == 0 {
		o.SeqStart = max(1, space/2)
	}
	if o.SeqStart < 1 || o.SeqStart > space {
		return badOption("SeqStart", o.SeqStart, "1..%d", space)
	}
	return nil
}

// slots returns the number of ring slots, or 1<<62 when it is beyond counting.
func (o *Options) slots(alloc *bitsalloc.Allocator) int64 {
	perTick := (alloc.MaxSeq() + 1) / int64(o.RunLength)
	if bits.Len64(uint64(perTick))+o.BoostPower > 62 {
		return 1 << 62
	}
	return perTick << o.BoostPower
}

// fillTimes fills in and checks the durations.
func (o *Options) fillTimes(*bitsalloc.Allocator) error {
	tick := o.Layout.Tick
	if o.MaxLag == 0 {
		o.MaxLag = max(2*tick, time.Second)
		if o.MaxLag < tick { // 2*tick overflowed
			o.MaxLag = 1<<63 - 1
		}
	}
	if least := tick + 4*minInterval; o.MaxLag < least {
		return badOption("MaxLag", o.MaxLag, "at least Tick + %v = %v", 4*minInterval, least)
	}
	if o.ScheduleInterval == 0 {
		o.ScheduleInterval = min((o.MaxLag-tick)/4, time.Minute)
	}
	if o.ScheduleInterval < minInterval || o.ScheduleInterval > (o.MaxLag-tick)/2 {
		return badOption("ScheduleInterval", o.ScheduleInterval, "%v..%v, half of MaxLag less a tick", minInterval, (o.MaxLag-tick)/2)
	}
	if o.MaxLead < 0 {
		return badOption("MaxLead", o.MaxLead, "0 or more")
	}
	if o.MaxJump == 0 {
		o.MaxJump = defaultMaxJump
	}
	if o.MaxJump < time.Second {
		return badOption("MaxJump", o.MaxJump, "at least %v", time.Second)
	}
	return nil
}

// fillPolicies checks the policies.
func (o *Options) fillPolicies(*bitsalloc.Allocator) error {
	if o.PutPolicy > Fail {
		return badOption("PutPolicy", o.PutPolicy, "Discard or Fail")
	}
	if o.TakePolicy > Reject {
		return badOption("TakePolicy", o.TakePolicy, "Pad, Wait or Reject")
	}
	return o.Rollback.validate()
}

// badOption is the one form of every complaint about Options.
func badOption(field string, value any, want string, args ...any) error {
	return fmt.Errorf("%w: %s is %v, want %s", ErrOptions, field, value, fmt.Sprintf(want, args...))
}

// autoLanes returns the number of lanes for n processors: enough that two goroutines rarely meet on one.
func autoLanes(n int) int { return min(maxLanes, 1<<bits.Len(uint(max(1, n)*8-1))) }
