// Package contender lists everything that is measured, each behind one small adapter: the library's own generators, the
// floors no generator can be faster than, the peers a user could choose instead, and the rivals to the library's design.
package contender

import (
	"cmp"
	"regexp"
	"slices"
)

// Group says what a contender is in the comparison.
type Group string

// The groups, in the order of the report.
const (
	Own   Group = "uidring"
	Floor Group = "floor"
	Peer  Group = "peer"
	Rival Group = "rival"
)

// Contender is something that hands out ids, or stands for the least that handing one out can cost.
type Contender struct {
	Name    string
	Group   Group
	Module  string // the peer's module path; empty for what lives in this repository
	Bits    int    // of an id: 63 and 64 are integers, 80 and more are byte strings; 0 for a floor that makes none
	Time    bool   // whether an id carries the time it was made
	Ceiling Ceiling
	Note    string // what the reader must know to read its row

	// New returns a fresh instance. Every measurement gets its own.
	New func() (*Instance, error)
}

// Instance is one generator at work. Run and Keys may be called by any number of goroutines.
type Instance struct {
	// Run makes n ids in the tightest loop that the contender's API allows: the call to the generator is direct, so that
	// no adapter costs more than another.
	Run func(n int) error

	// Keys sets every element of dst to an id of its own. Nil for a floor that makes no ids.
	Keys func(dst []Key) error

	// Close ends what New began. Never nil.
	Close func()
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

// Int64 reports whether the contender hands out integers from a shared generator: what the library is to be compared with.
func (c Contender) Int64() bool { return c.Bits == 63 || c.Bits == 64 }

// All returns every contender, in the order of the report.
func All() []Contender {
	return slices.Concat(owns(), floors(), peers(), alternatives())
}

// Select returns the contenders of all whose name matches, in their order.
func Select(all []Contender, name *regexp.Regexp) []Contender {
	var out []Contender
	for _, c := range all {
		if name.MatchString(c.Name) {
			out = append(out, c)
		}
	}
	return out
}

// ByName returns the contender of that exact name.
func ByName(name string) (Contender, bool) {
	all := All()
	i := slices.IndexFunc(all, func(c Contender) bool { return c.Name == name })
	if i < 0 {
		return Contender{}, false
	}
	return all[i], true
}

// integers returns the Keys of a generator of integers.
func integers(next func() (int64, error)) func([]Key) error {
	return func(dst []Key) error {
		for i := range dst {
			id, err := next()
			if err != nil {
				return err
			}
			dst[i] = Key{Lo: uint64(id)}
		}
		return nil
	}
}

// nothing is the Close of what needs none.
func nothing() {}
