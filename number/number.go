package number

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/segment"
)

// Number makes the numbers of one name. It is safe for concurrent use, starts no goroutine and
// needs no Close: the segment.Generator that it counts with does.
type Number struct {
	gen  *segment.Generator
	name string
	f    *format
	opts Options
	hide *hider // nil: the counter is not hidden

	page atomic.Pointer[page] // of the last second; nil before the first

	mu   sync.Mutex // guards the change of pages, and what follows
	last *book      // of the period before the page's; nil: none, or it was forgotten
	over int64      // the unix second in which last ended
}

// New returns the numbers of a name, counted by gen, whose source has to be a segment.Periods. It
// reads the format and registers it with the name: at the name's first use it is kept in the
// database, and from then on another format, zone or key is refused with segment.ErrFormat. It
// blocks until the source has answered or ctx ends.
//
// Errors wrap ErrFormat, with the place and the field, or are those of segment.Generator.Begin.
func New(
	ctx context.Context, gen *segment.Generator, name, format string, opts *Options,
) (*Number, error) {
	n, err := newNumber(name, format, opts)
	if err != nil {
		return nil, err
	}
	if n.f.gapless {
		return nil, invalid("the counter of %q is gapless, want NewGapless", name)
	}
	n.gen = gen
	// The format first: a process that is refused for it leaves no fingerprint of a key.
	forms := []segment.Period{{Name: name, Format: n.kept()}}
	for version, mark := range n.hide.marks() {
		if !n.f.version { // whatever version it is called
			version = 0
		}
		forms = append(forms,
			segment.Period{Name: fmt.Sprint(name, "_key", version), Format: mark})
	}
	for _, form := range forms {
		if _, err := gen.Begin(ctx, form); err != nil {
			return nil, fmt.Errorf("number: %w", err)
		}
	}
	return n, nil
}

// newNumber returns a Number without a Generator.
func newNumber(name, format string, opts *Options) (*Number, error) {
	f, err := parseFormat(format)
	if err != nil {
		return nil, err
	}
	if err := checkName(name, f); err != nil {
		return nil, err
	}
	o, err := opts.withDefaults(f)
	if err != nil {
		return nil, err
	}
	n := &Number{name: name, f: f, opts: o}
	if f.hidden {
		n.hide, err = newHider(o.Keys)
	}
	return n, err
}

// kept is what a name keeps of its first use.
func (n *Number) kept() string { return n.f.source + " " + n.opts.Zone.String() }

// Keys returns the names of the keys that Next wants, in their order.
func (n *Number) Keys() []string { return n.f.keyNames() }

// Next returns a number that no other call ever returns for this name. The keys are those of the
// format, in its order. The period is that of the clock at the call; another process whose clock
// differs may use the period before or after, and counts with another counter.
//
// The first call for a key in a period waits for the source. Later ones are one atomic add and the
// text, and wait as segment.Tag.Next does. Errors wrap ErrKey, segment.ErrExhausted when the
// numbers of the period are used up, segment.ErrPastPeriod where the clock is far behind, or are
// those of segment.Tag.Next. It allocates the string.
func (n *Number) Next(ctx context.Context, key ...string) (string, error) {
	if err := n.f.fits(key); err != nil {
		return "", err
	}
	for {
		p, e, err := n.counter(ctx, key)
		if err != nil {
			return "", err
		}
		id, err := e.tag.Next(ctx)
		if err == nil && id <= n.f.capacity {
			var buf [maxText]byte
			return string(n.append(buf[:0], p, e, key, id)), nil
		}
		if err = n.failed(p, e, err); err != nil {
			return "", err
		}
	}
}

// Fill sets every element of numbers to a number of its own, all of one key, and returns how many
// it set: len(numbers), or fewer together with the error that stopped it. It waits as Next does.
func (n *Number) Fill(ctx context.Context, numbers []string, key ...string) (int, error) {
	if err := n.f.fits(key); err != nil {
		return 0, err
	}
	ids, done := make([]int64, len(numbers)), 0
	for done < len(numbers) {
		p, e, err := n.counter(ctx, key)
		if err != nil {
			return done, err
		}
		got, err := e.tag.Fill(ctx, ids[:len(numbers)-done])
		for _, id := range ids[:got] {
			if id <= n.f.capacity {
				var buf [maxText]byte
				numbers[done] = string(n.append(buf[:0], p, e, key, id))
				done++
			}
		}
		if done < len(numbers) {
			if err = n.failed(p, e, err); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// counter returns the page of now and the counter of a key on it. A call that was late, because its
// period was forgotten meanwhile, looks at the clock again.
func (n *Number) counter(ctx context.Context, key []string) (*page, *entry, error) {
	for {
		p, err := n.now()
		if err != nil {
			return nil, nil, err
		}
		switch e, err := n.entry(ctx, p, key); {
		case err != nil:
			return nil, nil, err
		case e != nil && e.full.Load():
			return nil, nil, n.failed(p, e, nil)
		case e != nil:
			return p, e, nil
		}
	}
}

// failed returns the error of a call that got none, or an id above the width. It returns nil for a
// tag that was forgotten meanwhile, so that the call tries again. If the Generator is closed, that
// fails.
func (n *Number) failed(p *page, e *entry, err error) error {
	switch {
	case err == nil:
		e.full.Store(true)
		return n.f.usedUp(e.tag.Name())
	case errors.Is(err, segment.ErrClosed):
		p.book.drop(e)
		return nil
	}
	return fmt.Errorf("number: %w", err)
}

// append appends the text of a number to b.
func (n *Number) append(b []byte, p *page, e *entry, key []string, id int64) []byte {
	next := 0
	for i := range p.fields {
		switch f := &p.fields[i]; f.kind {
		case literal:
			b = append(b, f.text...)
		case counter:
			if e.hidden != nil {
				id = int64(e.hidden.Encrypt(uint64(id)))
			}
			b = f.chars.append(b, id, f.max)
		case checksum:
			b = append(b, n.f.check.char(b))
		default: // a key: pages have no dates and versions
			b = append(b, key[next]...)
			next++
		}
	}
	return b
}

// Parts is a number taken apart.
type Parts struct {
	Keys   []string  // in the order of Next
	Start  time.Time // when the period began, in Options.Zone; zero: it has none
	Count  int64     // the counter's value, 1 or more
	Tag    string    // of the counter: "order@20261122@BJ"
	Number string    // the text
}

// Parse takes a number apart. It does not know which numbers were handed out. A text that Next
// never writes is refused: of another length or alphabet, of a day that there is not, or whose
// check character does not fit. The error wraps ErrText and names the place. A number of a key's
// version that Options.Keys lacks is refused too.
func (n *Number) Parse(text string) (Parts, error) {
	r, err := n.f.read(text)
	if err != nil {
		return Parts{}, fmt.Errorf("number: %w", err)
	}
	p := Parts{Keys: r.keys, Count: r.count, Number: text}
	t, err := r.dates.day(n.opts.Zone)
	if err != nil {
		return Parts{}, fmt.Errorf("number: %w: %q", err, text)
	}
	p.Start = n.f.period.start(t)
	p.Tag = n.tag(n.f.period.number(t), r.keys)
	if n.hide != nil {
		if p.Count, err = n.hide.reveal(n.f, p.Tag, r); err != nil {
			return Parts{}, fmt.Errorf("number: %w", err)
		}
	}
	if p.Count < 1 {
		return Parts{}, fmt.Errorf("number: %w: %q counts 0, want 1 or more", ErrText, text)
	}
	return p, nil
}

// tag returns the tag of the counter of a period and a key.
func (n *Number) tag(period int64, key []string) string {
	b := appendInt(append([]byte(n.name), '@'), period)
	for _, k := range key {
		b = append(append(b, '@'), k...)
	}
	return string(b)
}
