package bitsalloc

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrLayout is what every error about a Layout wraps. It is permanent: the same Layout always fails.
var ErrLayout = errors.New("bitsalloc: invalid layout")

// Default widths: 1 sign bit, 28 bits of one-second ticks (8.5 years), 22 bits of worker id (4,194,304 workers) and
// 13 bits of sequence (8,192 ids a tick), the layout of Baidu's UidGenerator.
const (
	DefaultTimeBits   = 28
	DefaultWorkerBits = 22
	DefaultSeqBits    = 13
	DefaultTick       = time.Second
)

// DefaultEpoch is the instant of tick 0 in the default layout. The original's own default (2016-05-20 at +08:00) ran
// out on 2024-11-20 with its 28 bits of seconds; this one lasts until 2034-07-04T21:24:16Z.
func DefaultEpoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Layout says how the 63 bits below the sign bit are divided, highest first:
//
//	 63 62                                                      0
//	+--+-------------+--------------+--------------+-------------+
//	| 0| time (tick) |    worker    |   sequence   |    gene     |
//	+--+-------------+--------------+--------------+-------------+
//	    TimeBits       WorkerBits     SeqBits        GeneBits
//
// The widths may sum to less than 63: the unused high bits are then zero, so that 53 bits give ids which JavaScript
// numbers hold exactly. The zero value is the default layout: widths 28, 22, 13 and 0, one-second ticks, DefaultEpoch.
// When any of TimeBits, WorkerBits and SeqBits is set, all three are taken as they stand.
type Layout struct {
	TimeBits   int           // bits of the tick counter, 1..62
	WorkerBits int           // bits of the worker id, 0..61; 0 leaves room for worker 0 only
	SeqBits    int           // bits of the sequence within a tick, 1..62
	GeneBits   int           // low bits that carry a shard gene, 0..61; 0: none
	Tick       time.Duration // length of a tick, above 0; 0 means one second
	Epoch      time.Time     // the instant of tick 0; the zero time means DefaultEpoch

	_ struct{} // keeps literals keyed
}

// withDefaults returns l with its zero fields filled in.
func (l Layout) withDefaults() Layout {
	if l.TimeBits == 0 && l.WorkerBits == 0 && l.SeqBits == 0 {
		l.TimeBits, l.WorkerBits, l.SeqBits = DefaultTimeBits, DefaultWorkerBits, DefaultSeqBits
	}
	if l.Tick == 0 {
		l.Tick = DefaultTick
	}
	if l.Epoch.IsZero() {
		l.Epoch = DefaultEpoch()
	}
	l.Epoch = l.Epoch.UTC().Round(0)
	return l
}

// validate checks a Layout whose defaults are filled in.
func (l Layout) validate() error {
	for _, f := range []struct {
		name     string
		v, least int
	}{{"TimeBits", l.TimeBits, 1}, {"WorkerBits", l.WorkerBits, 0}, {"SeqBits", l.SeqBits, 1}, {"GeneBits", l.GeneBits, 0}} {
		if f.v < f.least || f.v > 62 {
			return fmt.Errorf("%w: %s is %d, want %d..62", ErrLayout, f.name, f.v, f.least)
		}
	}
	if sum := l.TimeBits + l.WorkerBits + l.SeqBits + l.GeneBits; sum > 63 {
		return fmt.Errorf("%w: TimeBits+WorkerBits+SeqBits+GeneBits is %d+%d+%d+%d = %d, want at most 63",
			ErrLayout, l.TimeBits, l.WorkerBits, l.SeqBits, l.GeneBits, sum)
	}
	if l.Tick < 0 {
		return fmt.Errorf("%w: Tick is %v, want above 0", ErrLayout, l.Tick)
	}
	return nil
}

// String returns the canonical text of the layout with its defaults filled in, such as
// "28-22-13-0/1s@2026-01-01T00:00:00Z". Two layouts compose the same ids if and only if their texts are equal.
func (l Layout) String() string {
	l = l.withDefaults()
	var b strings.Builder
	fmt.Fprintf(&b, "%d-%d-%d-%d/%s@%s", l.TimeBits, l.WorkerBits, l.SeqBits, l.GeneBits, l.Tick, l.Epoch.Format(time.RFC3339Nano))
	return b.String()
}
