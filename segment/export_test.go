package segment

import (
	"context"
	"sync"
	"time"
)

// Buffer is a range in use.
type Buffer = buffer

// NewBuffer returns an open buffer.
func NewBuffer(r Range, percent int) *Buffer {
	b := newBuffer(r, percent)
	b.release(0)
	return b
}

// Next takes one position as Tag.Next does.
func (b *buffer) Next() (p int64, ok bool) {
	p = b.next.Add(1) - 1
	return p, p < b.len
}

func (b *buffer) Take(n int64) (p, got int64) { return b.take(n) }
func (b *buffer) Hold() int64                 { return b.hold() }
func (b *buffer) Release(p int64)             { b.release(p) }
func (b *buffer) ID(p int64) int64            { return b.id(p) }
func (b *buffer) Mark() int64                 { return b.mark }
func (b *buffer) Free() int64                 { return b.free() }

// Trace returns the word next of the tag's range in use.
func (t *Tag) Trace() int64 { return t.cur.Load().next.Load() }

// Late returns what a caller does after it took the mark, and what it does after it found no id. A
// test calls them later than a caller would.
func (t *Tag) Late() (prefetch func(), wait func(ctx context.Context, n int64) (int64, error)) {
	return t.prefetch, func(ctx context.Context, n int64) (int64, error) {
		c, err := t.wait(ctx, n)
		return c.n, err
	}
}

// ErrDropped is the error that Tag returns inside the package only.
var ErrDropped = errDropped

// Stall adds a waiting caller that does not run after it is served, until leave is called.
func (t *Tag) Stall() (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &waiter{want: 1, since: time.Now(), done: make(chan struct{})}
	t.queue.PushBack(w)
	t.serve()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.leave(w)
	}
}

// Open returns a tag as a caller gets it, before it waits for the first range.
func (g *Generator) Open(name string) (*Tag, error) { return g.lookUp(name) }

// Known returns how many tags the Generator remembers.
func (g *Generator) Known() int { return len(g.all()) }

// Locked locks every mutex of the Generator and its tags, and returns what unlocks them.
func (g *Generator) Locked() (unlock func()) {
	held := []*sync.Mutex{&g.mu}
	for _, t := range g.all() {
		held = append(held, &t.mu)
	}
	for _, mu := range held {
		mu.Lock()
	}
	return func() {
		for _, mu := range held {
			mu.Unlock()
		}
	}
}

// Unknown returns how many unknown names the Generator remembers.
func (g *Generator) Unknown() int {
	g.unknown.mu.Lock()
	defer g.unknown.mu.Unlock()
	return len(g.unknown.until)
}
