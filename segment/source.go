package segment

import (
	"context"
	"fmt"
)

// A Source hands out disjoint ranges of ids, tag by tag: no id is ever in two ranges of one tag, on
// any process or machine, at any time. Implementations are safe for concurrent use.
//
// Package sqlsource has those that a database backs. A source of your own needs this method only.
// Lister, Finder, Setter, Deleter, Returner and Checker are capabilities that a Generator uses where it
// finds them. Package segmenttest has the conformance suite.
//
// A Source does not remember what it has handed out. It is the Generator that compares each range
// with those before, and refuses one that went back; a program that calls Fetch itself does
// without.
type Source interface {
	// Fetch hands out a range of tag with about step ids. Step 0 asks for the source's own step. A
	// source may hand out more or fewer than step: the Generator takes what it gets. Fetch may
	// block on I/O until ctx ends. When it fails the range may be lost; it is never handed out
	// again.
	//
	// A Generator calls Fetch for one tag from one goroutine at a time. It repeats a Fetch that
	// failed, unless the error wraps ErrUnknownTag, ErrExhausted or ErrBadRange: see there. The
	// Generator's errors name the tag, so those of Fetch need not.
	Fetch(ctx context.Context, tag string, step int64) (Range, error)
}

// The bounds of a Range.
const (
	MaxStride = 65535          // the largest Stride, as MySQL's auto_increment_increment
	MaxSpan   = int64(1) << 31 // the largest distance of To and From, and so the largest step
)

// Range is a half-open stretch of ids: From, From+Stride, From+2*Stride and so on, all below To.
// The article on Leaf writes the first range of 1000 ids as "1~1000"; here it is [1, 1001), as in
// Leaf's code.
type Range struct {
	From, To int64 // 0 <= From < To <= From + 2^31
	Stride   int64 // distance of neighbours, 1..65535; 0 means 1

	// Step is the source's own step for the tag, if the source knows it; 0 if not.
	Step int64

	// Origin tells apart the independent counters behind one tag, such as the servers of a Ticket,
	// 0 and up. Only ranges of one origin rise.
	Origin int

	// Cyclic says that the counter begins again when it is used up. Such a range is not compared
	// with earlier ones, so a counter that goes back for any other reason goes unnoticed.
	Cyclic bool

	_ struct{} // keeps literals keyed
}

// Len returns how many ids the range holds.
func (r Range) Len() int64 {
	if r.To <= r.From {
		return 0
	}
	return (r.To-r.From-1)/r.stride() + 1
}

// String returns the range in the usual notation, such as "[1000, 2000)" or "[1, 200) by 2".
func (r Range) String() string {
	if r.stride() == 1 {
		return fmt.Sprintf("[%d, %d)", r.From, r.To)
	}
	return fmt.Sprintf("[%d, %d) by %d", r.From, r.To, r.stride())
}

func (r Range) stride() int64 { return max(r.Stride, 1) }

// Validate returns ErrBadRange, with the field and its bound, unless r is what a Range has to be.
func (r Range) Validate() error {
	switch {
	case r.From < 0 || r.To <= r.From:
		return fmt.Errorf("%w: %v, want 0 <= From < To", ErrBadRange, r)
	case r.Stride < 0 || r.Stride > MaxStride:
		return fmt.Errorf("%w: Stride is %d, want 0..%d", ErrBadRange, r.Stride, MaxStride)
	case r.To-r.From > MaxSpan:
		return fmt.Errorf("%w: %v spans %d, want at most %d", ErrBadRange, r, r.To-r.From, MaxSpan)
	case r.Origin < 0 || r.Step < 0:
		return fmt.Errorf("%w: Origin is %d and Step %d, want 0 or more", ErrBadRange, r.Origin, r.Step)
	}
	return nil
}

// Row is a tag as its source stores it.
type Row struct {
	Tag  string
	Next int64 // the first id that the next Fetch may hand out
	Step int64 // the tag's own step, 1 or more
}

// A Lister is a Source that knows its tags.
type Lister interface {
	List(ctx context.Context) ([]Row, error) // in the order of Tag
}

// A Finder is a Source that can look a single tag up. A Generator asks it about a tag in use that
// the list does not have, before the tag counts as gone: the tag may be new, and a database may
// match one name with another ("Order" with "order").
type Finder interface {
	// Find returns the tag's row, or ErrUnknownTag if Fetch would not know the tag either.
	Find(ctx context.Context, tag string) (Row, error)
}

// A Setter is a Source whose tags can be made and changed through it.
type Setter interface {
	// Set makes the tag, or changes the step of the one that exists and raises its counter to
	// row.Next. A Next of 0 leaves an existing counter alone and starts a new one at the source's
	// first id; a Step of 0 leaves the step alone and is an error for a new tag. A Next below the
	// counter is refused with ErrRangeWentBack: ids would repeat.
	Set(ctx context.Context, row Row) error
}

// A Deleter is a Source whose tags can be deleted through it.
type Deleter interface {
	// Delete deletes a tag if its row is as given, because what is lost with it is what row says: a
	// tag that is made with this name later, and without row.Next, repeats ids.
	Delete(ctx context.Context, row Row) error
}

// A Returner is a Source that takes the end of a range back.
type Returner interface {
	// Return gives back rest, the unused end of a range of tag that Fetch handed out, and reports
	// whether the source took it, which it does only while no later range exists. Either way no id
	// of rest may be used from then on.
	Return(ctx context.Context, tag string, rest Range) (bool, error)
}

// A Checker is a Source that can tell whether it is fit for use: its tables exist and its servers
// are set up. New calls Check before anything else.
type Checker interface {
	Check(ctx context.Context) error
}
