package segment

import (
	"context"
	"sync"
	"time"
)

// Backoff is the pause after so many failures in a row.
func Backoff(failures int, least, most time.Duration) time.Duration {
	return backoff(failures, least, most)
}

// Buffer lets tests at a range that is handed out.
type Buffer = buffer

// NewBuffer is newBuffer, and opens the buffer.
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

// Trace returns the word of the tag's range in use.
func (t *Tag) Trace() int64 { return t.cur.Load().next.Load() }

// Late returns what a caller does that was told to fetch, and one that found no id.
func (t *Tag) Late() (prefetch func(), wait func(ctx context.Context, n int64) (int64, error)) {
	return t.prefetch, func(ctx context.Context, n int64) (int64, error) {
		c, err := t.wait(ctx, n)
		return c.n, err
	}
}

// ErrDropped is what no caller sees.
var ErrDropped = errDropped

// Stall is a caller that waits, and does not get to run when it is served, until leave.
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

// Open makes a tag as a caller does, before it waits for its first range.
func (g *Generator) Open(name string) (*Tag, error) { return g.lookUp(name) }

// Known returns how many tags the Generator remembers.
func (g *Generator) Known() int { return len(g.all()) }

// Locked takes every lock that there is in a Generator and returns what gives them back.
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

// Unknown returns how many names the Generator remembers that the source did not know.
func (g *Generator) Unknown() int {
	g.unknown.mu.Lock()
	defer g.unknown.mu.Unlock()
	return len(g.unknown.until)
}
