package uidtest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// Generator is a uid.Generator without a worker id: its ids are IDs and then numbers above them, so
// that a test knows each. The zero value counts 1, 2, 3. It never waits, so like a real generator
// that has ids it does not read ctx. All methods are safe for concurrent use; the fields are set
// before the first.
type Generator struct {
	// IDs are handed out first, as they are. Default: none.
	IDs []uid.ID

	// Clock gives the ids after IDs the time that a real generator gives them: they are the first
	// ones of the clock's tick, of worker id 0, or follow the id before them. It is
	// uid.Options.Clock. Default: none, and ids are of the layout's first ticks.
	Clock func() (wall time.Time, mono time.Duration)

	// Layout is that of Parse, and of the genes. With GeneBits the numbers count in ids without
	// their gene: 1, 2 and 3 are 1<<GeneBits, 2<<GeneBits and 3<<GeneBits. Default: 28-22-13.
	Layout bitsalloc.Layout

	mu     sync.Mutex
	alloc  *bitsalloc.Allocator // of Layout; nil before the first use
	last   uid.ID               // guarded by mu: the highest number handed out, without its gene
	issued int64                // guarded by mu
	ready  int64                // guarded by mu: ids until err counts
	err    error                // guarded by mu
	closed bool                 // guarded by mu
}

var _ uid.Generator = (*Generator)(nil)

// Fail lets n more ids be handed out. Then every call for an id fails with err, until Fail(0, nil),
// and a Fill that wants more is cut short.
func (g *Generator) Fail(n int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready, g.err = int64(n), err
}

// Next returns the next id.
func (g *Generator) Next(ctx context.Context) (uid.ID, error) {
	var id [1]uid.ID
	_, err := g.Fill(ctx, id[:])
	return id[0], err
}

// Fill sets every element of ids.
func (g *Generator) Fill(_ context.Context, ids []uid.ID) (int, error) {
	return g.fill(ids, nil)
}

// NextGene returns the next id with the gene of key. It fails with uid.ErrNoGene if Layout has no
// GeneBits.
func (g *Generator) NextGene(ctx context.Context, key int64) (uid.ID, error) {
	var id [1]uid.ID
	_, err := g.FillGene(ctx, key, id[:])
	return id[0], err
}

// FillGene sets every element of ids to an id with the gene of key.
func (g *Generator) FillGene(_ context.Context, key int64, ids []uid.ID) (int, error) {
	return g.fill(ids, &key)
}

// fill hands out ids, with the gene of key if it is not nil.
func (g *Generator) fill(ids []uid.ID, key *int64) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.allocator()
	mask := uid.ID(1)<<a.Layout().GeneBits - 1
	if key != nil && mask == 0 {
		return 0, uid.ErrNoGene
	}
	for i := range ids {
		switch {
		case g.closed:
			return i, uid.ErrClosed
		case g.err != nil && g.ready <= 0:
			return i, g.err
		}
		g.ready--
		ids[i] = g.next(mask)
		if key != nil {
			ids[i] = ids[i]&^mask | uid.ID(*key)&mask
		}
	}
	return len(ids), nil
}

// next returns one of IDs, or a number above all ids before it.
func (g *Generator) next(mask uid.ID) uid.ID {
	id := (g.last | mask) + 1
	if g.Clock != nil {
		id = max(id, g.now())
	}
	if g.issued < int64(len(g.IDs)) {
		id = g.IDs[g.issued]
	}
	g.issued++
	g.last = max(g.last, id)
	return id
}

// now returns the first id of the clock's tick. A clock that the layout cannot hold is a mistake in
// the test, as a Layout that makes no sense is: it panics.
func (g *Generator) now() uid.ID {
	wall, _ := g.Clock()
	id, err := g.alloc.Compose(g.alloc.TickAt(wall), 0, 0)
	if err != nil {
		panic(fmt.Sprintf("uidtest: Clock: %v", err))
	}
	return uid.ID(id)
}

// allocator returns that of Layout. A Layout that makes no sense is a mistake in the test: it
// panics.
func (g *Generator) allocator() *bitsalloc.Allocator {
	if g.alloc == nil {
		a, err := bitsalloc.New(g.Layout)
		if err != nil {
			panic(fmt.Sprintf("uidtest: Layout: %v", err))
		}
		g.alloc = a
	}
	return g.alloc
}

// Parse takes an id of Layout apart.
func (g *Generator) Parse(id uid.ID) uid.Parts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return uid.ParseParts(g.allocator(), id)
}

// Stats has the layout, the number of ids handed out, and the error that the next call gets.
func (g *Generator) Stats() uid.Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.allocator()
	s := uid.Stats{Layout: a.Layout(), Expires: a.Expires(), Issued: g.issued}
	switch {
	case g.closed:
		s.Err = uid.ErrClosed
	case g.ready <= 0:
		s.Err = g.err
	}
	return s
}

// Close makes every later call for an id fail with uid.ErrClosed.
func (g *Generator) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return nil
}
