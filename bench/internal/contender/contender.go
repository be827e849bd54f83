// Package contender lists what the bench measures, each behind one small interface: the library's
// generators, the floors below which no generator can go, and the libraries that a program could
// use instead.
package contender

import (
	"slices"
	"time"
)

// Loop makes n ids. It calls its generator directly: a test reads the machine code. It is safe for
// concurrent use.
type Loop func(n int) error

// Contender hands out ids, or stands for the least that handing one out can cost.
type Contender struct {
	Name  string // of a peer: its module below github.com, and what tells two rows apart
	Group Group
	Floor string // the floor that its price is a multiple of
	Bits  int    // of an id: up to 64 for integers, 80 and more for byte strings; 0: a floor
	Rate  Rate   // what the id's layout can sustain
	Note  string // what a reader must know to read the row

	New Start // nil where Go lacks it
}

// Start starts a fresh generator. Every measurement has its own. stop is nil for what needs none.
type Start func() (run Loop, stop func() error, err error)

// Group is a contender's place in the tables.
type Group string

// The groups, in the order of the report.
const (
	Floor Group = "floors"
	Own   Group = "uidring, one id a call"
	Batch Group = "many ids a call, per id"
	Peer  Group = "other libraries"
	Java  Group = "other projects"
)

// Rate is the number of ids a second that an id's layout has room for on one generator, and what
// the generator does beyond it. The zero value means that a program cannot reach it.
type Rate struct {
	PerSecond float64
	Waits     bool // sooner or later, for the clock
}

// perTick returns the rate of a layout with so many ids a tick.
func perTick(ids int64, tick time.Duration, waits bool) Rate {
	return Rate{float64(ids) / tick.Seconds(), waits}
}

// Mark returns the mark of a measured rate: "*" within 15 percent of what the layout can sustain,
// which the row of a generator that waits then shows, "†" above that, which the layout cannot
// sustain, or "".
func (r Rate) Mark(perSecond float64) string {
	switch {
	case perSecond > 1.15*r.PerSecond && r.PerSecond > 0:
		return "†"
	case perSecond >= 0.85*r.PerSecond && r.Waits:
		return "*"
	}
	return ""
}

// Short is how long most measurements of a pace run: short enough for many of them to go by without
// a disturbance on a busy machine.
const Short = 2 * time.Millisecond

// Slice returns for how long one measurement of the contender's pace runs, and in how many of the
// rounds. What waits for ticks that are long, borrows and waits later, or leaves garbage, as ids of
// 128 bits do, shows its pace only over a longer time.
func (c Contender) Slice(rounds int) (d time.Duration, n int) {
	waits, rate := c.Rate.Waits, c.Rate.PerSecond
	switch {
	case waits && rate < 1e4, waits && c.Name == Drifting:
		return 2 * time.Second, min(rounds, 2)
	case waits && rate < 1e5, c.Bits == 128:
		return 250 * time.Millisecond, min(rounds, 5)
	case waits && rate < 1e7:
		return 25 * time.Millisecond, min(rounds, 20)
	}
	return Short, rounds
}

// All returns every contender in Go, in the order of the report.
func All() []Contender { return slices.Concat(floors(), owns(), batches(), peers()) }

// Pick returns the contenders of these names, in their order, without those that are not there, or
// All for no names. Those in Java have no New.
func Pick(names ...string) (out []Contender) {
	if len(names) == 0 {
		return All()
	}
	for _, name := range names {
		for _, c := range append(All(), java()...) {
			if c.Name == name {
				out = append(out, c)
			}
		}
	}
	return out
}

// Plain is the Start of what needs nothing.
func Plain(run Loop) Start { return func() (Loop, func() error, error) { return run, nil, nil } }

// repeat calls next n times, until it fails. The compiler inlines repeat and next into the loop
// that calls repeat, but not into the copies that it makes of a loop when it inlines the function
// around: such a function must not be inlined.
func repeat(n int, next func() error) error {
	for range n {
		if err := next(); err != nil {
			return err
		}
	}
	return nil
}
