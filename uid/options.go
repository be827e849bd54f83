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
	"github.com/uidring/uidring/ringbuffer"
)

// AutoLanes is the Lanes that are picked by the number of processors.
const AutoLanes = -1

// The defaults, and the bounds that withDefaults enforces.
const (
	noBoost              = -1
	defaultBoostPower    = 3
	defaultPaddingFactor = 50
	leastRunLength       = 512  // bench/README.md, tuning: shorter runs show in Next and Fill
	mostRunLength        = 2048 // and longer ones gain little

	// A sequence space is one slot at the least, so more cannot pass maxSlots.
	maxBoostPower = 24
	maxSlots      = 1 << (22 + 2*(bits.UintSize/64)) // of the ring: 2^24, more than a gigabyte
	maxLanes      = 1 << 10
	minInterval   = time.Millisecond
)

// TakePolicy says what a caller gets when no id is ready. The zero value is TakePad. None of them
// affects a call that finds an id.
type TakePolicy uint8

// The take policies.
const (
	TakePad    TakePolicy = iota // the caller composes a batch
	TakeWait                     // wait for the padder
	TakeReject                   // fail with ErrEmpty or ErrLead
)

// Options of NewCached. A nil *Options and zero fields mean the defaults. BoostPower,
// PaddingFactor, ScheduleInterval and the policies have the names that Baidu's generator gives
// them. Their defaults need no tuning.
type Options struct {
	// Layout divides the 63 bits. Default: 1-28-22-13, one-second ticks, epoch
	// 2026-01-01T00:00:00Z.
	Layout bitsalloc.Layout

	// Eras are the layouts that succeed Layout, each from an instant on: bitsalloc.NewEras has the
	// rules. Ids of a later era lie above those of an earlier one. Worker ids fit the era with the
	// fewest worker bits, RunLength the one with the fewest sequence bits. Default: none.
	Eras []bitsalloc.Era

	// BoostPower sizes the ring: (MaxSeq+1) << BoostPower ids. A larger ring rides out longer
	// bursts without help from the caller. 1..24, or -1 for the ids of one tick. Default: 3, and
	// more with many lanes, so that the ring has a run for every lane.
	BoostPower int

	// PaddingFactor is the percentage of ids left in the ring below which it is refilled: by the
	// caller that left so few with TakePad, else by the padder. 1..100. Default: 50.
	PaddingFactor int

	// RunLength is the number of consecutive ids per ring slot, a power of two up to MaxSeq+1.
	// Default: a quarter of the sequence space shared by all lanes, but 512 to 2,048; at most a
	// quarter of the space where that is less, and more where the ring would have more than 4,096
	// slots. 1 is the original's design: one slot, one id.
	RunLength int

	// Lanes is the number of words that callers spread over, a power of two up to 1,024. Default:
	// 1, and ids strictly increase in the order of the calls. With more lanes they increase per
	// lane only, and throughput grows with the processors. A caller takes another lane's ids only
	// before it would wait or fail. AutoLanes picks by GOMAXPROCS.
	Lanes int

	// ScheduleInterval is the longest time between two of the padder's checks of the clock. At
	// least 1 ms, and twice the interval plus a tick must fit into MaxLag. Default: a quarter of
	// MaxLag less a tick, at most a minute.
	ScheduleInterval time.Duration

	// MaxLag bounds how long before it is handed out an id may have been stamped, given that the
	// padder gets to run when its timer fires. A shorter one costs more turns of the padder and
	// more ids that an idle generator drops. At least Tick + 4 ms. Default: the longer of two ticks
	// and one second.
	MaxLag time.Duration

	// MaxLead bounds how far ahead of the clock an id may be composed, in whole ticks rounded down.
	// Ids that are composed when the clock goes back keep their stamps. At the bound TakePolicy
	// decides: TakePad and TakeWait wait for the clock, TakeReject fails with ErrLead. Default: 0,
	// no bound but the time bits.
	MaxLead time.Duration

	// PutPolicy is what the padder does when a padding run ends at a full ring. Nothing is composed
	// for that, and nothing is lost: ringbuffer.PutDiscard, the default, says nothing,
	// ringbuffer.PutFail counts it in Stats.RejectsPut and logs it.
	PutPolicy ringbuffer.PutPolicy

	// PutFunc, when not nil, replaces PutPolicy. It gets the id that would be composed next; an
	// error counts as with PutFail. It runs on a goroutine of its own, one call at a time, where a
	// panic ends the process. It may take ids, and must not call Close.
	PutFunc func(next ID) error

	// TakePolicy is what a caller gets when no id is ready: TakePad, the default, composes a batch;
	// TakeWait waits for the padder; TakeReject fails with ErrEmpty.
	TakePolicy TakePolicy

	// TakeFunc, when not nil, replaces TakePolicy. It gets the reason: ErrEmpty, ErrLead,
	// ErrClaimExpired and so on. The call fails with its error; after nil the generator tries
	// again.
	TakeFunc func(ctx context.Context, reason error) error

	// Clock reads the wall clock and, since any fixed instant, a clock that never goes back. It
	// must be safe for concurrent use, and must not call Close of the generator. For tests:
	// uidtest.Clock has one. Default: the machine's clocks.
	Clock func() (wall time.Time, mono time.Duration)

	// Logger gets rare changes of state, in order, on a goroutine of its own: a handler may take
	// ids of this generator, and must not call Close. Default: none.
	Logger *slog.Logger

	// Set by NewDefault: see DefaultOptions.
	rollback Rollback
	seqStart int64

	// Filled in by withDefaults.
	narrow, wide int64         // the sequence spaces of the eras that have the least and the most
	tick         time.Duration // the longest of the eras

	_ struct{} // keeps literals keyed
}

// DefaultOptions are the options of NewDefault. A nil *DefaultOptions and zero fields mean the
// defaults. Fields that Options has too mean what they mean there.
type DefaultOptions struct {
	Layout bitsalloc.Layout
	Eras   []bitsalloc.Era

	// MaxLead bounds how far ahead of the clock an id may be stamped: ahead of it lies the window
	// of a claim that begins there, and a tick that Rollback holds.
	MaxLead time.Duration

	// TakePolicy is what a caller gets at MaxLead. TakeReject fails with ErrLead, the others wait.
	TakePolicy TakePolicy

	// TakeFunc, when not nil, replaces TakePolicy, and is asked too when the claim is lost or
	// expired.
	TakeFunc func(ctx context.Context, reason error) error

	// Rollback is what a clock that went back gets. Default: none, ErrClockBack.
	Rollback Rollback

	// SeqStart bounds the sequence number that a tick starts at: it is spread over 0..SeqStart-1. 1
	// always starts at zero, as Twitter and Baidu do; 100 is Leaf's choice. At most MaxSeq+1.
	// Default: half of the sequence space, so that the ids of a quiet service spread evenly over
	// any modulus.
	SeqStart int64

	Clock  func() (wall time.Time, mono time.Duration)
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// options returns o as the options that both generators are made from. o may be nil.
func (o *DefaultOptions) options() *Options {
	if o == nil {
		return &Options{}
	}
	return &Options{Layout: o.Layout, Eras: o.Eras, MaxLead: o.MaxLead, TakePolicy: o.TakePolicy,
		TakeFunc: o.TakeFunc, Clock: o.Clock, Logger: o.Logger, rollback: o.Rollback,
		seqStart: o.SeqStart}
}

// clocks returns the reader of Clock, or of the machine's clocks. o may be nil.
func (o *Options) clocks() readClocks {
	if o == nil || o.Clock == nil {
		return systemClock()
	}
	return o.Clock
}

// withDefaults returns a copy of o with every field filled in and checked, and the eras. o may be
// nil, and is not changed, so a caller may make several generators from one. The first field that
// is out of range is the error.
func (o *Options) withDefaults() (Options, *bitsalloc.Eras, error) {
	var c Options
	if o != nil {
		c = *o
	}
	eras, err := bitsalloc.NewEras(c.Layout, c.Eras...)
	if err != nil {
		return c, nil, fmt.Errorf("%w: Layout: %w", ErrOptions, err)
	}
	c.Layout = eras.All()[0].Layout()
	for _, a := range eras.All() {
		space := a.MaxSeq() + 1 // at most 1<<62
		if c.wide = max(c.wide, space); c.narrow == 0 || space < c.narrow {
			c.narrow = space
		}
		c.tick = max(c.tick, a.Layout().Tick)
	}
	for _, step := range []func() error{c.fillRing, c.fillTimes, c.fillPolicies} {
		if err := step(); err != nil {
			return c, nil, err
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, eras, nil
}

// fillRing fills in and checks what shapes the ring and the lanes. The defaults depend on one
// another in this order: Lanes, RunLength, BoostPower. Runs get longer for a wide sequence, and the
// ring larger for many lanes. What the caller has set is never changed.
func (o *Options) fillRing() error {
	space := o.narrow
	boost := o.BoostPower
	switch {
	case o.BoostPower == 0:
		o.BoostPower = defaultBoostPower
	case o.BoostPower == noBoost:
		o.BoostPower = 0
	case o.BoostPower < 0 || o.BoostPower > maxBoostPower:
		return badOption("BoostPower", o.BoostPower, "1..%d or -1", maxBoostPower)
	}
	if o.PaddingFactor == 0 {
		o.PaddingFactor = defaultPaddingFactor
	}
	if o.PaddingFactor < 1 || o.PaddingFactor > 100 {
		return badOption("PaddingFactor", o.PaddingFactor, "1..100")
	}
	switch {
	case o.Lanes == 0:
		o.Lanes = 1
	case o.Lanes == AutoLanes:
		o.Lanes = autoLanes(runtime.GOMAXPROCS(0))
	case o.Lanes < 0 || o.Lanes > maxLanes || bits.OnesCount(uint(o.Lanes)) != 1:
		return badOption("Lanes", o.Lanes, "a power of two in 1..%d or AutoLanes", maxLanes)
	}
	if o.RunLength == 0 {
		// All lanes together hold a quarter of a tick, or more if that would make runs short: what
		// they hold lies ahead of the clock.
		run := min(max(space/4/int64(o.Lanes), leastRunLength), mostRunLength)
		o.RunLength = int(max(1, min(run, space/4)))
		// A wide sequence gets longer runs rather than a ring that fills the memory.
		for int64(o.RunLength) < space/4 && o.RunLength <= math.MaxInt/4 && o.slots() > 1<<12 {
			o.RunLength *= 2
		}
	}
	if o.RunLength < 1 || int64(o.RunLength) > space || bits.OnesCount(uint(o.RunLength)) != 1 {
		return badOption("RunLength", o.RunLength, "a power of two in 1..%d", space)
	}
	for boost == 0 && o.slots() < int64(o.Lanes) {
		o.BoostPower++ // a run for every lane
	}
	if n := o.slots(); n > maxSlots {
		return badOption("BoostPower", o.BoostPower,
			"a ring of at most %d slots: (MaxSeq+1)<<BoostPower/RunLength is 2^%d",
			maxSlots, bits.Len64(uint64(n))-1)
	}
	if o.seqStart < 0 || o.seqStart > o.wide {
		return badOption("SeqStart", o.seqStart, "1..%d, or 0 for half of the sequence space",
			o.wide)
	}
	return nil
}

// slots returns the number of ring slots, or 1<<62 when the number does not fit an int64. The
// widest era's ids have to fit, so that the ring holds BoostPower's share of any tick.
func (o *Options) slots() int64 {
	perTick := o.wide / int64(o.RunLength)
	if bits.Len64(uint64(perTick))+o.BoostPower > 62 {
		return 1 << 62
	}
	return perTick << o.BoostPower
}

// fillTimes fills in and checks the durations. ScheduleInterval depends on MaxLag, and both on the
// longest tick.
func (o *Options) fillTimes() error {
	tick := o.tick
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
		return badOption("ScheduleInterval", o.ScheduleInterval, "%v..%v, half of MaxLag "+
			"less a tick",
			minInterval, (o.MaxLag-tick)/2)
	}
	if o.MaxLead < 0 {
		return badOption("MaxLead", o.MaxLead, "0 or more")
	}
	return nil
}

// fillPolicies checks the policies.
func (o *Options) fillPolicies() error {
	if o.PutPolicy > ringbuffer.PutFail {
		return badOption("PutPolicy", o.PutPolicy, "PutDiscard or PutFail")
	}
	if o.TakePolicy > TakeReject {
		return badOption("TakePolicy", o.TakePolicy, "TakePad, TakeWait or TakeReject")
	}
	return o.rollback.validate()
}

// badOption returns the error of an option that is out of range. All of them have one form: the
// field, its value, and the bound.
func badOption(field string, value any, want string, args ...any) error {
	return fmt.Errorf("%w: %s is %v, want %s", ErrOptions, field, value, fmt.Sprintf(want, args...))
}

// autoLanes returns the number of lanes for n processors: eight a processor, rounded up to a power
// of two, enough that two goroutines rarely meet on one. A lane takes 256 bytes where a cache line
// has 64, and its run holds ids that others do not see.
func autoLanes(n int) int { return min(maxLanes, 1<<bits.Len(uint(max(1, n)*8-1))) }
