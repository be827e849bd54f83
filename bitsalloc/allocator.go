// Package bitsalloc divides the 63 bits of an id into time, worker, sequence and gene, and does the
// arithmetic between ids, ticks and wall time. It is pure: no function reads a clock, blocks or
// keeps state, and those that are called per id do not allocate.
//
// A Layout is the plan, an Allocator does the arithmetic of one Layout, and Eras are Layouts that
// succeed one another. Twitter, Hutool, Leaf, and Snowflake with an epoch of your own, are the
// Layouts of the snowflake family; bitsalloc/compat has those that only a migration needs. Gene is
// the part of a key that an id carries for sharding.
package bitsalloc

import (
	"errors"
	"fmt"
)

// ErrRange is what every error about a field's value wraps: the value does not fit the field's
// bits.
var ErrRange = errors.New("bitsalloc: out of range")

// Allocator composes and splits the ids of one Layout. It is immutable, so any number of goroutines
// may use it. New makes one; the zero value is invalid.
type Allocator struct {
	layout Layout

	timeShift, workerShift, seqShift    uint8 // 62 at most
	maxTick, maxWorker, maxSeq, maxGene int64 // all ones, so each is its field's mask as well

	// The epoch and the tick as TickAt and TimeAt use them.
	epochSec, epochNano int64
	tick, firstTick     int64
}

// New returns the Allocator of l, or an error that wraps ErrLayout and names the field, its value
// and the bound.
func New(l Layout) (*Allocator, error) {
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return nil, err
	}
	return &Allocator{
		layout:      l,
		seqShift:    uint8(l.GeneBits),
		workerShift: uint8(l.GeneBits + l.SeqBits),
		timeShift:   uint8(l.GeneBits + l.SeqBits + l.WorkerBits),
		maxTick:     1<<l.TimeBits - 1,
		maxWorker:   1<<l.WorkerBits - 1,
		maxSeq:      1<<l.SeqBits - 1,
		maxGene:     1<<l.GeneBits - 1,
		epochSec:    l.Epoch.Unix(),
		epochNano:   int64(l.Epoch.Nanosecond()),
		tick:        int64(l.Tick),
		firstTick:   l.FirstTick,
	}, nil
}

// Layout returns the layout with its defaults filled in.
func (a *Allocator) Layout() Layout { return a.layout }

// Compose returns the id of (tick, worker, seq) with gene 0, or an error that wraps ErrRange and
// names the first field that does not fit. Ids of one worker order as (tick, seq) does.
func (a *Allocator) Compose(tick, worker, seq int64) (int64, error) {
	// A maximum is its field's mask: a value that is negative or too large has a bit outside, so
	// that one branch checks all three.
	if tick&^a.maxTick|worker&^a.maxWorker|seq&^a.maxSeq != 0 {
		return 0, a.rangeError(tick, worker, seq)
	}
	return tick<<(a.timeShift&63) | worker<<(a.workerShift&63) | seq<<(a.seqShift&63), nil
}

// rangeError names the first of the three that does not fit; the caller has found that one does
// not.
func (a *Allocator) rangeError(tick, worker, seq int64) error {
	name, v, most := "seq", seq, a.maxSeq
	switch {
	case tick&^a.maxTick != 0:
		name, v, most = "tick", tick, a.maxTick
	case worker&^a.maxWorker != 0:
		name, v, most = "worker", worker, a.maxWorker
	}
	return fmt.Errorf("%w: %s is %d, want 0..%d", ErrRange, name, v, most)
}

// Split returns the four fields of id. Bits above the layout's widths are ignored: an id below 0 or
// above MaxID is not one of this layout.
func (a *Allocator) Split(id int64) (tick, worker, seq, gene int64) {
	return id >> (a.timeShift & 63) & a.maxTick,
		id >> (a.workerShift & 63) & a.maxWorker,
		id >> (a.seqShift & 63) & a.maxSeq,
		id & a.maxGene
}

// MaxTick returns the last tick that the time bits hold.
func (a *Allocator) MaxTick() int64 { return a.maxTick }

// MaxWorker returns the highest worker id.
func (a *Allocator) MaxWorker() int64 { return a.maxWorker }

// MaxSeq returns the highest sequence number of a tick.
func (a *Allocator) MaxSeq() int64 { return a.maxSeq }

// MaxID returns the highest id: every field at its maximum. It is 2^63-1 for a layout that uses all
// 63 bits.
func (a *Allocator) MaxID() int64 {
	return a.maxTick<<(a.timeShift&63) | (1<<(a.timeShift&63) - 1)
}
