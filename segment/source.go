package segment

import (
	"context"
	"fmt"
	"math"
)

// A Source hands out disjoint ranges of ids, tag by tag: no id is ever in two ranges of one tag, whichever process, machine
// or moment they were handed out to. Implementations are safe for concurrent use.
//
// LeafAlloc, Sequence and Ticket return the sources that a database backs. Those of a program's own need this method
// only; Lister, Finder, Setter, Returner and Checker are capabilities that a Generator uses where it finds them.
type Source interface {
	// Fetch hands out a range of tag with about step ids. Step 0 asks for the source's own step. A source may hand out
	// more or fewer than step: the Generator takes what it gets. Fetch may block on I/O until ctx ends. When it fails the
	// range may be lost; it is never handed out again. Errors that wrap ErrUnknownTag or ErrExhausted end the tag, after
	// any other Fetch is called again.
	Fetch(ctx context.Context, tag string, step int64) (Range, error)
}

// maxStride is the largest Range.Stride; it is also the largest auto_increment_increment of MySQL.
const maxStride = 65535

// maxSpan is the largest distance of a Range's To and From, and so the largest step. It fits into half a word, with room for a
// stride: see lane.
const maxSpan = int64(1) << 31

// Range is a half-open stretch of ids: From, From+Stride, From+2*Stride and so on, all below To. The article on Leaf
// writes the first range of 1000 ids as "1~1000" and its code holds it as [1, 1001); here it is always the second.
type Range struct {
	From, To int64 // 0 <= From < To <= From + 2^31
	Stride   int64 // distance of neighbours, 1..65535; 0 means 1

	// Step is the source's own step for the tag, where the source learnt it on the way; 0: not known.
	Step int64

	// Origin tells apart the independent counters behind one tag, such as the servers of a Ticket, 0 and up. Only ranges
	// of one origin rise.
	Origin int

	// Cyclic says that the counter was told to begin again when it is used up. Such a range is not compared with earlier
	// ones, so a counter that goes back for a worse reason goes unnoticed too.
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

// validate checks what every Range has to be.
func (r Range) validate() error {
	switch {
	case r.From < 0 || r.To <= r.From:
		return fmt.Errorf("%w: %v, want 0 <= From < To", ErrBadRange, r)
	case r.Stride < 0 || r.Stride > maxStride:
		return fmt.Errorf("%w: Stride is %d, want 0..%d", ErrBadRange, r.Stride, maxStride)
	case r.To-r.From > maxSpan:
		return fmt.Errorf("%w: %v spans %d, want at most %d", ErrBadRange, r, r.To-r.From, maxSpan)
	case r.Origin < 0 || r.Step < 0:
		return fmt.Errorf("%w: Origin is %d and Step is %d, want 0 or more", ErrBadRange, r.Origin, r.Step)
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

// A Finder is a Source that can look a single tag up. A Generator asks it about a tag that it uses and that a Lister did not list,
// before it takes the tag for gone: the tag may be new, and a database may take one name for another ("Order" for "order").
type Finder interface {
	Find(ctx context.Context, tag string) (Row, error) // ErrUnknownTag if Fetch would not know the tag either
}

// A Setter is a Source whose tags can be made and changed through it.
type Setter interface {
	// Set makes the tag, or changes the step of the one that exists and raises its counter to row.Next. A Next of 0
	// leaves an existing counter alone and starts a new one at the source's first id; a Step of 0 leaves the step
	// alone and is an error for a new tag. A Next below the counter is refused with ErrRangeWentBack: ids would repeat.
	Set(ctx context.Context, row Row) error
}

// A Returner is a Source that takes the end of a range back.
type Returner interface {
	// Return gives back rest, the unused end of a range of tag that Fetch handed out, and reports whether the source took
	// it, which it does only while no later range exists. Either way no id of rest may be used from then on.
	Return(ctx context.Context, tag string, rest Range) (bool, error)
}

// A Checker is a Source that can tell whether it is fit for use: its tables exist and its servers are set up. New calls
// Check before anything else.
type Checker interface {
	Check(ctx context.Context) error
}

// checkFetch checks the arguments of a database source's Fetch.
func checkFetch(tag string, step int64, maxTag int) error {
	if err := checkName(tag, maxTag); err != nil {
		return fmt.Errorf("%w: the tag %w", ErrUnknownTag, err)
	}
	if step < 0 || step > maxSpan {
		return fmt.Errorf("%w: step is %d, want 0..%d", ErrOptions, step, maxSpan)
	}
	return nil
}

const maxInt64 = int64(math.MaxInt64)
