package bitsalloc

import (
	"errors"
	"fmt"
	"time"
)

// ErrLayout is what every error about a Layout wraps. It is permanent: the same Layout always
// fails.
var ErrLayout = errors.New("bitsalloc: invalid layout")

// Default widths: 1 sign bit, 28 bits of one-second ticks (8.5 years), 22 bits of worker id
// (4,194,304 workers) and 13 bits of sequence (8,192 ids a tick), the layout of Baidu's
// UidGenerator.
const (
	defaultTimeBits   = 28
	defaultWorkerBits = 22
	defaultSeqBits    = 13
)

// idBits is what an int64 has below its sign bit; javaScriptBits is what a JavaScript number holds
// without rounding.
const (
	idBits         = 63
	javaScriptBits = 53
)

// defaultEpoch is the instant of tick 0 in the default layout. The original's own default
// (2016-05-20 at +08:00) ran out on 2024-11-20 with its 28 bits of seconds; this one lasts until
// 2034-07-04T21:24:16Z.
func defaultEpoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Layout says how the 63 bits below the sign bit are divided, highest first:
//
//	 63 62                                                      0
//	+--+-------------+--------------+--------------+-------------+
//	| 0| time (tick) |    worker    |   sequence   |    gene     |
//	+--+-------------+--------------+--------------+-------------+
//	    TimeBits       WorkerBits     SeqBits        GeneBits
//
// The widths may sum to less than 63: the unused high bits are then zero, so that 53 bits give ids
// which JavaScript numbers hold exactly. The zero value is the default layout: widths 28, 22, 13
// and 0, one-second ticks since 2026-01-01T00:00:00Z. When any of TimeBits, WorkerBits and SeqBits
// is set, all three are taken as they stand.
//
// Tick, Epoch and FirstTick give the tick counter its meaning: tick FirstTick+n is the stretch of
// time [Epoch+n*Tick, Epoch+(n+1)*Tick). Epoch is an instant: its zone and its monotonic reading
// play no part. An epoch in the future is valid, yet nothing can be stamped before it. A FirstTick
// above 0 keeps ids above older ones; Above and After compute it.
type Layout struct {
	TimeBits   int           // bits of the tick counter, 1..62
	WorkerBits int           // bits of the worker id, 0..61; 0 leaves room for worker 0 only
	SeqBits    int           // bits of the sequence within a tick, 1..62
	GeneBits   int           // low bits that carry a shard gene, 0..61; 0: none
	Tick       time.Duration // length of a tick, above 0; 0 means one second
	FirstTick  int64         // the tick that begins at Epoch, 0..MaxTick
	Epoch      time.Time     // the instant of FirstTick, in the years 1..9999; zero: 2026

	_ struct{} // keeps literals keyed
}

// JavaScript returns l narrowed to the 53 bits that a JavaScript number holds exactly. Time and
// gene keep their widths, tick and epoch their values, the worker field gets workerBits and the
// sequence what is left: Twitter().JavaScript(5) is 41-5-7 with 32 workers of 128 ids a
// millisecond, Layout{}.JavaScript(12) is 28-12-13. Where nothing is left for the sequence, or
// workerBits is out of range, New refuses the result.
func (l Layout) JavaScript(workerBits int) Layout {
	l = l.withDefaults()
	l.SeqBits = javaScriptBits - l.TimeBits - workerBits - l.GeneBits
	l.WorkerBits = workerBits
	return l
}

// WithGene returns l with room for a gene of geneBits, which the sequence gives up: time and worker
// stay where they are, and the sequence space of a tick is divided among the 2^geneBits shards.
// Twitter().WithGene(4) is 41-10-8 with 4 gene bits. Where nothing is left for the sequence, or
// geneBits is negative, New refuses the result.
func (l Layout) WithGene(geneBits int) Layout {
	l = l.withDefaults()
	l.SeqBits += l.GeneBits - geneBits
	l.GeneBits = geneBits
	return l
}

// withDefaults returns l with its zero fields filled in and its epoch reduced to the instant.
func (l Layout) withDefaults() Layout {
	if l.TimeBits == 0 && l.WorkerBits == 0 && l.SeqBits == 0 {
		l.TimeBits, l.WorkerBits, l.SeqBits = defaultTimeBits, defaultWorkerBits, defaultSeqBits
	}
	if l.Tick == 0 {
		l.Tick = time.Second
	}
	if l.Epoch.IsZero() {
		l.Epoch = defaultEpoch()
	}
	l.Epoch = l.Epoch.UTC() // drops the monotonic reading as well
	return l
}

// validate checks a Layout whose defaults are filled in.
func (l Layout) validate() error {
	// Each width by itself first: the sum of checked widths cannot overflow an int, whatever the
	// caller wrote.
	for _, f := range []struct {
		name           string
		v, least, most int
	}{
		{"TimeBits", l.TimeBits, 1, idBits - 1},
		{"WorkerBits", l.WorkerBits, 0, idBits - 2},
		{"SeqBits", l.SeqBits, 1, idBits - 1},
		{"GeneBits", l.GeneBits, 0, idBits - 2},
	} {
		if f.v < f.least || f.v > f.most {
			return fmt.Errorf("%w: %s is %d, want %d..%d", ErrLayout, f.name, f.v, f.least, f.most)
		}
	}
	if sum := l.TimeBits + l.WorkerBits + l.SeqBits + l.GeneBits; sum > idBits {
		return fmt.Errorf("%w: TimeBits+WorkerBits+SeqBits+GeneBits is %d+%d+%d+%d = %d, want "+
			"at most %d",
			ErrLayout, l.TimeBits, l.WorkerBits, l.SeqBits, l.GeneBits, sum, idBits)
	}
	if most := int64(1)<<l.TimeBits - 1; l.FirstTick < 0 || l.FirstTick > most {
		return fmt.Errorf("%w: FirstTick is %d, want 0..%d", ErrLayout, l.FirstTick, most)
	}
	if l.Tick < 0 {
		return fmt.Errorf("%w: Tick is %v, want above 0", ErrLayout, l.Tick)
	}
	// The bound keeps the canonical text well-formed and the distance from any epoch to any instant
	// countable.
	if y := l.Epoch.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("%w: Epoch is in the year %d, want 1..9999", ErrLayout, y)
	}
	return nil
}
