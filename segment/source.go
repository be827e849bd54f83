package segment

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/internal/segbound"
)

// A Source hands out disjoint ranges of ids, tag by tag: no id is ever in two ranges of one tag, on
// any process or machine, at any time. Implementations are safe for concurrent use.
//
// Package sqltable has sources over databases. A source needs only this method. Lister, Finder,
// Setter, Deleter, Returner, Periods and Checker are optional interfaces; a Generator uses those
// that it finds. Package segmenttest has the conformance suite. Close and Shutdown of a Generator
// wait for the methods of its Source, which must not call these two.
//
// A Source does not compare its ranges with earlier ones. The Generator does, and refuses a range
// that went back. A program that calls Fetch itself does not have this check.
type Source interface {
	// Fetch hands out a range of tag with about step ids. Step 0 asks for the source's own step. A
	// source may hand out more or fewer ids than step. Fetch may block on I/O until ctx ends. When
	// it fails, a range may be lost; a lost range is never handed out again.
	//
	// A Generator calls Fetch for one tag from one goroutine at a time. It repeats a Fetch that
	// failed, unless the error wraps ErrUnknownTag, ErrExhausted or ErrBadRange. The Generator's
	// errors name the tag, so those of Fetch need not.
	Fetch(ctx context.Context, tag string, step int64) (Range, error)
}

// maxOrigin bounds Range.Origin: there are no more counters than steps keep apart.
const maxOrigin = segbound.Stride

// Range is a half-open interval of ids: From, From+Stride, From+2*Stride and so on, all below To.
// The article on Leaf writes the first range of 1000 ids as "1~1000"; here it is [1, 1001), as in
// Leaf's code.
type Range struct {
	From, To int64 // 0 <= From < To <= From + 2^31
	Stride   int64 // distance between neighbouring ids, 1..65535; 0 means 1

	// Step is the source's own step for the tag, if the source knows it; 0 if not.
	Step int64

	// Origin identifies one of the independent counters of a tag, such as the servers of a Ticket;
	// 0..65535. Ranges rise only within an origin. Ranges of two origins that overlap must have
	// Strides, and a distance, that keep their ids apart.
	Origin int

	// Cyclic says that the counter begins again when it is used up. Such a range is not compared
	// with earlier ones, so a counter that went back for another reason is not noticed.
	Cyclic bool

	_ struct{} // keeps literals keyed
}

// Len returns the number of ids in the range.
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

// Validate returns an error that wraps ErrBadRange, with the field and its bound, if r is not a
// valid Range.
func (r Range) Validate() error {
	switch {
	case r.From < 0 || r.To <= r.From:
		return fmt.Errorf("%w: %v, want 0 <= From < To", ErrBadRange, r)
	case r.Stride < 0 || r.Stride > segbound.Stride:
		return fmt.Errorf("%w: Stride is %d, want 0..%d", ErrBadRange, r.Stride, segbound.Stride)
	case r.To-r.From > segbound.Span:
		return fmt.Errorf("%w: %v spans %d, want at most %d", ErrBadRange, r, r.To-r.From,
			segbound.Span)
	case r.Origin < 0 || r.Origin > maxOrigin:
		return fmt.Errorf("%w: Origin is %d, want 0..%d", ErrBadRange, r.Origin, maxOrigin)
	case r.Step < 0:
		return fmt.Errorf("%w: Step is %d, want 0 or more", ErrBadRange, r.Step)
	}
	return nil
}

// Row is a tag as its source stores it, at the moment at which it was read.
type Row struct {
	Tag  string
	Next int64 // the first id that the next Fetch may hand out
	Step int64 // the tag's own step, 1 or more
}

// A Lister is a Source that can list its tags. A Generator lists them at every refresh, so a list
// should cost the source little. List blocks on I/O until ctx ends. It returns invalid rows too.
type Lister interface {
	List(ctx context.Context) ([]Row, error) // sorted by Tag
}

// A Finder is a Source that can look up a single tag. A Generator asks it about a tag in use that
// is not in the list, before the tag counts as gone: the tag may be newer than the list, or the
// database may match names that differ ("Order" and "order"). Find blocks on I/O until ctx ends,
// like the methods of all optional interfaces, and they are safe for concurrent use as Fetch is.
type Finder interface {
	// Find returns the tag's row, or ErrUnknownTag if Fetch would return it too.
	Find(ctx context.Context, tag string) (Row, error)
}

// A Setter is a Source that can create and change tags. Generators may fetch from the tag at the
// same time: a range of before the change stays valid, and the new step takes effect at their next
// refresh or range.
type Setter interface {
	// Set creates the tag, or sets the step of an existing one and raises its counter to row.Next.
	// A Next of 0 leaves an existing counter as it is and starts a new one at the source's first
	// id. A Step of 0 leaves the step as it is, and is an error for a new tag. A Next below the
	// counter is refused with ErrRangeWentBack, because ids would repeat.
	Set(ctx context.Context, row Row) error
}

// A Deleter is a Source that can delete tags. Generators that hold ranges of the tag go on with
// them until a fetch or a refresh finds out.
type Deleter interface {
	// Delete deletes the tag if its row equals row. The caller should keep row.Next: a tag that is
	// created with this name later repeats ids if its counter begins below.
	Delete(ctx context.Context, row Row) error
}

// A Returner is a Source that takes the end of a range back.
type Returner interface {
	// Return gives back rest, the unused end of a range of tag that Fetch handed out. It reports
	// whether the source took it, which it does only if no later range was handed out. Either way
	// the caller must not use any id of rest after the call.
	Return(ctx context.Context, tag string, rest Range) (bool, error)
}

// A Checker is a Source that can tell whether it is fit for use: its tables exist and its servers
// are configured correctly. New calls Check before it uses the source. Check changes no counter.
type Checker interface {
	Check(ctx context.Context) error
}
