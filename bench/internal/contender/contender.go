// Package contender lists what the bench measures, each behind one small adapter: the library's
// generators, the floors below which no generator can go, the libraries that a program could use
// instead, and the designs that were not chosen.
package contender

import (
	"cmp"
	"slices"
	"time"
)

// Group is a contender's place in the tables.
type Group string

// The groups, in the order of the report.
const (
	Floor Group = "floors"
	Own   Group = "uidring, one id a call"
	Batch Group = "many ids a call, per id"
	Peer  Group = "other libraries"
	Rival Group = "designs that were not chosen"
)

// Contender hands out ids, or stands for the least that handing one out can cost.
type Contender struct {
	Name   string
	Group  Group
	Module string // module path of another library
	Bits   int    // of an id: up to 64 for integers, 80 and more for byte strings; 0: a floor
	Time   bool   // an id carries the time it was made
	Rate   Rate   // what the id's layout can sustain
	Allocs bool   // an id costs an allocation, so the garbage collector is part of its price
	Note   string // what a reader must know to read the row

	// New returns a fresh instance. Every measurement has its own.
	New func() (Instance, error)
}

// Instance is one generator at work. It is safe for concurrent use.
type Instance interface {
	// Run makes n ids. Its loop calls the generator directly: a test reads the machine code.
	Run(n int) error
	Close()
}

// Keyer is an Instance that shows its ids. All contenders with Bits are Keyers.
type Keyer interface {
	// Keys sets every element of dst to an id of its own.
	Keys(dst []Key) error
}

// Key is an id of any kind, as a value to compare.
type Key struct {
	Hi, Lo uint64
	Ext    uint32
}

// Compare orders keys.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Hi, o.Hi), cmp.Compare(k.Lo, o.Lo), cmp.Compare(k.Ext, o.Ext))
}

// Short is how long most measurements of a pace run: short enough for many of them to go by without
// a disturbance on a busy machine.
const Short = 2 * time.Millisecond

// Slice returns for how long one measurement of the contender's pace runs, and in how many of the
// rounds. What waits for ticks that are long, borrows and waits later, or leaves garbage shows its
// pace only over a longer time.
func (c Contender) Slice(rounds int) (d time.Duration, n int) {
	waits, drifts, rate := c.Rate.Beyond == Waits, c.Rate.Beyond == Drifts, c.Rate.PerSecond
	switch {
	case waits && rate < 1e4, drifts && rate < 1e5:
		return 2 * time.Second, min(rounds, 2)
	case waits && rate < 1e5, c.Allocs:
		return 250 * time.Millisecond, min(rounds, 5)
	case waits && rate < 1e7:
		return 25 * time.Millisecond, min(rounds, 20)
	}
	return Short, rounds
}

// All returns every contender, in the order of the report.
func All() []Contender {
	return slices.Concat(floors(), owns(), batches(), peers(), standard(), alternatives())
}

// ByName returns the contender of that name.
func ByName(name string) (Contender, bool) {
	all := All()
	i := slices.IndexFunc(all, func(c Contender) bool { return c.Name == name })
	if i < 0 {
		return Contender{}, false
	}
	return all[i], true
}

// each sets every element of dst to what next returns.
func each(dst []Key, next func() (Key, error)) (err error) {
	for i := range dst {
		if dst[i], err = next(); err != nil {
			return err
		}
	}
	return nil
}

// integer returns the key of an integer id.
func integer(id int64) Key { return Key{Lo: uint64(id)} }

// open is the Close of what needs none.
type open struct{}

func (open) Close() {}
