// Package bitsalloc divides the 63 bits of an id into time, worker, sequence and gene, and does the arithmetic between
// ids, ticks and wall time. It is pure: nothing in it reads a clock, allocates per call, blocks or changes.
package bitsalloc

import (
	"errors"
	"fmt"
	"time"
)

// ErrRange is what Compose's errors wrap when a field does not fit its bits.
var ErrRange = errors.New("bitsalloc: out of range")

// Allocator composes and splits the ids of one Layout. It is immutable, so any number of goroutines may use it.
type Allocator struct {
	layout Layout

	timeShift, workerShift, seqShift    uint
	maxTick, maxWorker, maxSeq, maxGene int64
}

// New returns the Allocator of l, or an error that wraps ErrLayout and names the field, its value and the bound.
func New(l Layout) (*Allocator, error) {
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return nil, err
	}
	a := &Allocator{
		layout:      l,
		seqShift:    uint(l.GeneBits),
		workerShift: uint(l.GeneBits + l.SeqBits),
		timeShift:   uint(l.GeneBits + l.SeqBits + l.WorkerBits),
		maxTick:     1<<l.TimeBits - 1,
		maxWorker:   1<<l.WorkerBits - 1,
		maxSeq:      1<<l.SeqBits - 1,
		maxGene:     1<<l.GeneBits - 1,
	}
	return a, nil
}

// Layout returns the layout with its defaults filled in.
func (a *Allocator) Layout() Layout { return a.layout }

// Compose returns the id of (tick, worker, seq) with gene 0, or an error that wraps ErrRange and names the field that
// does not fit.
func (a *Allocator) Compose(tick, worker, seq int64) (int64, error) {
	if tick < 0 || tick > a.maxTick || worker < 0 || worker > a.maxWorker || seq < 0 || seq > a.maxSeq {
		return 0, a.rangeError(tick, worker, seq)
	}
	return tick<<a.timeShift | worker<<a.workerShift | seq<<a.seqShift, nil
}

// rangeError names the first field that does not fit.
func (a *Allocator) rangeError(tick, worker, seq int64) error {
	for _, f := range []struct {
		name   string
		v, max int64
	}{{"tick", tick, a.maxTick}, {"worker", worker, a.maxWorker}, {"seq", seq, a.maxSeq}} {
		if f.v < 0 || f.v > f.max {
			return fmt.Errorf("%w: %s is %d, want 0..%d", ErrRange, f.name, f.v, f.max)
		}
	}
	return nil
}

// Split returns the four fields of id. Bits above the layout's widths are ignored.
func (a *Allocator) Split(id int64) (tick, worker, seq, gene int64) {
	return id >> a.timeShift & a.maxTick, id >> a.workerShift & a.maxWorker, id >> a.seqShift & a.maxSeq, id & a.maxGene
}

// TickAt returns the tick that t falls in: negative before the epoch, above MaxTick from Expires on.
func (a *Allocator) TickAt(t time.Time) int64 {
	// Whole seconds and the rest apart: a Duration between far instants would overflow after 292 years.
	sec := t.Unix() - a.layout.Epoch.Unix()
	nsec := int64(t.Nanosecond()) - int64(a.layout.Epoch.Nanosecond())
	tick := int64(a.layout.Tick)
	if tick%int64(time.Second) == 0 {
		if nsec < 0 {
			sec--
		}
		return floorDiv(sec, tick/int64(time.Second))
	}
	const limit = (1<<63 - 1) / int64(time.Second)
	if sec < limit && sec > -limit {
		return floorDiv(sec*int64(time.Second)+nsec, tick)
	}
	if sec < 0 {
		return -1 << 62
	}
	return 1 << 62
}

// TimeAt returns the instant, in UTC, at which tick begins.
func (a *Allocator) TimeAt(tick int64) time.Time {
	d := int64(a.layout.Tick)
	perTickSec, perTickNano := d/int64(time.Second), d%int64(time.Second)
	// tick*perTickNano overflows beyond 2^33 ticks of a second's length; split the tick count first.
	const chunk = int64(time.Second)
	hi, lo := tick/chunk, tick%chunk
	sec := tick*perTickSec + hi*perTickNano
	return time.Unix(a.layout.Epoch.Unix()+sec, int64(a.layout.Epoch.Nanosecond())+lo*perTickNano).UTC()
}

// MaxTick returns the last tick that the time bits hold.
func (a *Allocator) MaxTick() int64 { return a.maxTick }

// MaxWorker returns the highest worker id.
func (a *Allocator) MaxWorker() int64 { return a.maxWorker }

// MaxSeq returns the highest sequence number of a tick.
func (a *Allocator) MaxSeq() int64 { return a.maxSeq }

// Expires returns the first instant that the time bits cannot hold.
func (a *Allocator) Expires() time.Time { return a.TimeAt(a.maxTick + 1) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
