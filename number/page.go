package number

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/ff1"
	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/segment"
)

// page is what all numbers of one moment have in common. Zones change their offsets, and days,
// months and years begin, at whole seconds, so a page is right for a second at the least. Later
// seconds with the same text keep it.
//
// It is immutable but for second, which is only ever set to a second that the page is right for.
type page struct {
	second atomic.Int64 // the unix second that the page was last found right for
	fields []field      // of the format, with dates and version as literals
	text   string       // of those, to compare pages by
	period int64
	book   *book
}

// now returns the page of the clock's second. One reading of the clock gives period and text.
func (n *Number) now() (*page, error) {
	t := n.opts.Clock()
	second := t.Unix()
	if p := n.page.Load(); p != nil && p.second.Load() == second {
		return p, nil
	}
	return n.turn(t.In(n.opts.Zone))
}

// turn makes the page of t the current one, once a second. Tags of a period that has been over for
// a while leave the memory.
func (n *Number) turn(t time.Time) (*page, error) {
	const grace = 60 // seconds: until no call is in the period before
	n.mu.Lock()
	defer n.mu.Unlock()
	second, old := t.Unix(), n.page.Load()
	if old != nil && n.last != nil && second-n.over > grace {
		n.last.forget()
		n.last = nil
	}
	p, err := n.newPage(t)
	switch {
	case err != nil:
		return nil, err
	case old != nil && old.text == p.text && old.period == p.period:
		old.second.Store(second)
		return old, nil
	case old != nil && old.period == p.period:
		p.book = old.book
	case n.last != nil && n.last.period == p.period: // the clock went back, or a call is late
		p.book, n.last, n.over = n.last, old.book, second
	default:
		if n.last != nil {
			n.last.forget()
		}
		n.last = nil
		if old != nil {
			n.last, n.over = old.book, second
		}
		p.book = newBook(p.period)
	}
	p.second.Store(second)
	n.page.Store(p)
	return p, nil
}

// newPage returns the page of t, without a book.
func (n *Number) newPage(t time.Time) (*page, error) {
	y := t.Year()
	if n.f.parts.has(year2) && (y < 2000 || y > 2099) || y < 0 || y > 9999 {
		return nil, fmt.Errorf("number: the clock says %d, want a year of the two or four digits "+
			"of %q, 2000..2099 or 0..9999", y, n.f.source)
	}
	p := &page{period: n.f.period.number(t)}
	var text strings.Builder
	var fields []field
	for _, f := range n.f.fields {
		var s []byte
		switch f.kind {
		case literal:
			s = []byte(f.text)
		case date:
			s = f.chars.append(nil, f.part.of(t), f.max)
		case version:
			s = appendInt(nil, int64(n.hide.current))
		default:
			fields = append(fields, f)
			continue
		}
		text.Write(s)
		if last := len(fields) - 1; last >= 0 && fields[last].kind == literal {
			fields[last].text += string(s)
		} else {
			fields = append(fields, field{kind: literal, text: string(s)})
		}
	}
	p.fields, p.text = fields, text.String()
	return p, nil
}

// appendInt appends the decimal form of n to b.
func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// entry is the counter of a key in a period.
type entry struct {
	tag    *segment.Tag
	hidden *ff1.Permutation // nil: the counter is not hidden
	name   string
	full   atomic.Bool // the numbers of the width are used up
}

// book holds the counters of a period by key. Looking a known key up takes no lock.
type book struct {
	period int64

	known atomic.Pointer[map[string]*entry] // immutable; some of all
	mu    sync.Mutex
	all   map[string]*entry        // guarded by mu
	under map[string]chan struct{} // guarded by mu: keys whose counter is being made
	late  int                      // guarded by mu: looks at all since known was copied
	over  bool                     // guarded by mu: forgotten
}

// newBook returns an empty book.
func newBook(period int64) *book {
	b := &book{period: period, all: map[string]*entry{}, under: map[string]chan struct{}{}}
	b.known.Store(&map[string]*entry{})
	return b
}

// entry returns the counter of a key on the book of p, and makes it at its first use. It returns
// nil without an error if the book was forgotten.
func (n *Number) entry(ctx context.Context, p *page, key []string) (*entry, error) {
	var buf [maxText]byte
	name := buf[:0]
	for _, k := range key {
		name = append(append(name, '@'), k...)
	}
	if e := (*p.book.known.Load())[string(name)]; e != nil {
		return e, nil
	}
	return n.find(ctx, p, string(name), key)
}

// find is entry for a key that is not known to all yet. One call makes a counter, and others wait
// for it. If it fails, they try themselves: it may have failed because its ctx ended.
func (n *Number) find(ctx context.Context, p *page, name string, key []string) (*entry, error) {
	b := p.book
	for {
		e, wait, mine := b.find(name)
		switch {
		case mine:
			e, err := n.begin(ctx, p, name, key)
			return b.made(name, e), err
		case wait == nil:
			return e, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, fmt.Errorf("number: waiting for the counter of %s%s: %w", n.name, name,
				ctx.Err())
		}
	}
}

// find returns the counter of a key, nil if the book was forgotten. Where there is none yet, it
// returns what closes when the call that makes it is done. If no call does, it is mine, the
// caller's to make, which calls made.
func (b *book) find(name string) (e *entry, wait <-chan struct{}, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.all[name]; e != nil {
		// As in sync.Map: after as many looks as the copy costs, it pays.
		if b.late++; b.late >= len(b.all) {
			b.publish()
		}
		return e, nil, false
	}
	if b.over {
		return nil, nil, false
	}
	if wait := b.under[name]; wait != nil {
		return nil, wait, false
	}
	b.under[name] = make(chan struct{})
	return nil, nil, true
}

// publish copies all to known. The caller holds mu.
func (b *book) publish() {
	known := maps.Clone(b.all)
	b.known.Store(&known)
	b.late = 0
}

// made records the counter that find had the caller make, nil if that failed, and returns it. In a
// book that was forgotten meanwhile it forgets the counter too, and returns nil.
func (b *book) made(name string, e *entry) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.under[name])
	delete(b.under, name)
	switch {
	case e == nil:
	case b.over:
		e.tag.Forget()
		return nil
	default:
		b.all[name] = e
		b.late++
	}
	return e
}

// drop takes a counter from the book, so that the next call makes it anew.
func (b *book) drop(e *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[e.name] == e {
		delete(b.all, e.name)
		b.publish()
	}
}

// forget takes the book's tags from the Generator's memory.
func (b *book) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for _, e := range b.all {
		e.tag.Forget()
	}
	b.all = map[string]*entry{}
	b.publish()
}

// begin makes the counter of a key in the source.
func (n *Number) begin(ctx context.Context, p *page, name string, key []string) (*entry, error) {
	most := max(n.f.capacity/gapped, 1)
	tag := n.tag(p.period, key)
	t, err := n.gen.Begin(ctx, segment.Period{
		Name: n.name, Format: n.kept(), Number: p.period, Tag: tag,
		Step: min(most, 100), MaxStep: min(most, segbound.Span),
	})
	if err != nil {
		if errors.Is(err, segment.ErrPastPeriod) {
			err = fmt.Errorf("the clock says %d: %w", p.period, err)
		}
		return nil, fmt.Errorf("number: %w", err)
	}
	e := &entry{tag: t, name: strings.Clone(name)}
	if n.hide != nil {
		e.hidden = n.hide.of(n.f, n.hide.current, tag)
	}
	return e, nil
}
