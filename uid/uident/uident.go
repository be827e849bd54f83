// Package uident fills the keys of ent's rows. Mixin is the field, Fill the hook:
//
//	func (Order) Mixin() []ent.Mixin { return []ent.Mixin{uident.Mixin{}} }
//
//	client.Use(uident.Fill(gen))
//	client.Order.CreateBulk(orders...).Save(ctx) // one Fill for all of them
//
// Ids are set before any SQL, so edges of new rows have them, and a batch for which there are no
// ids stores nothing.
package uident

import (
	"context"
	"sync"

	"entgo.io/ent"

	"github.com/uidring/uidring/uid"
)

// Fill returns a hook for client.Use. It gives an id to each new row whose key is a uid.ID, as that
// of Mixin, and leaves an id that is set alone. A CreateBulk is one Fill of the generator for each
// 10,000 rows.
//
// Give it to Use as it is: hook.On and the like build a hook when its row's turn has come, and each
// row is then a Fill of one. Use it before hooks that may refuse a row: what they refuse does not
// reach Fill, yet counts in the next batch, whose ids for such rows stay unused. So does the id of
// a row that has one of its own among others.
//
// Where OnConflict finds a row, UpdateNewValues leaves its key alone, and the new id stays unused.
// Its ID returns the stored key on PostgreSQL and SQLite, or sql.ErrNoRows with DoNothing. On MySQL
// it is an error: read the row there. Fill is safe for concurrent use.
func Fill(gen uid.Generator) ent.Hook { return (&filler{gen: gen}).hook }

// maxFill bounds a Fill, which is also for mutators that never run because a hook before refused.
const maxFill = 10_000

// filler fills the keys of a client's rows. A hook is called for one row and does not know of the
// others. But ent builds the mutators of all rows of a CreateBulk before it runs the first: those
// that were built since the last batch began are the next batch.
//
//	build  build  build  run            run   run
//	└──────── batch ───┘ Fill of 3, id   id    id
//
// Batches of goroutines at the same time may be cut in another way. That changes who calls Fill for
// whom, and may leave ids unused: a batch may be filled for rows that have taken one elsewhere.
type filler struct {
	gen uid.Generator

	mu   sync.Mutex
	next *batch // of the mutators that are built now; nil: none
}

// batch is the ids of the mutators that were built together.
type batch struct {
	waiting int // mutators that have not run; guarded by the filler's mu

	mu  sync.Mutex
	ids []uid.ID // not given to a row yet; guarded by mu
}

// newRow is what ent generates for a mutation of a type with such a key.
type newRow interface {
	ID() (uid.ID, bool)
	SetID(uid.ID)
}

// hook builds the mutator of one row.
func (f *filler) hook(next ent.Mutator) ent.Mutator {
	b := f.join()
	ran := false
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		row := without(m)
		n := f.leave(b, &ran, row != nil)
		if row != nil {
			id, err := f.take(ctx, b, n)
			if err != nil {
				return nil, err
			}
			row.SetID(id)
		}
		return next.Mutate(ctx, m)
	})
}

// without returns the row that m makes if it has no id yet, and else nil.
func without(m ent.Mutation) newRow {
	if row, ok := m.(newRow); ok && m.Op().Is(ent.OpCreate) {
		if _, set := row.ID(); !set {
			return row
		}
	}
	return nil
}

// join adds a mutator to the next batch.
func (f *filler) join() *batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = &batch{}
	}
	f.next.waiting++
	return f.next
}

// leave takes a mutator that runs for the first time out of its batch, and returns how many ids the
// batch wants, this one's included, maxFill at most. With begin set the batch takes no further
// mutators.
func (f *filler) leave(b *batch, ran *bool, begin bool) (want int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	want = 1
	if !*ran {
		want = min(b.waiting, maxFill)
		b.waiting--
		*ran = true
	}
	if begin && f.next == b {
		f.next = nil
	}
	return want
}

// take returns an id of the batch, which it fills with n if it has none. While another goroutine
// fills it, the id is one of its own: nothing waits here but the generator.
func (f *filler) take(ctx context.Context, b *batch, n int) (uid.ID, error) {
	if !b.mu.TryLock() {
		return f.gen.Next(ctx)
	}
	defer b.mu.Unlock()
	if len(b.ids) == 0 {
		ids := make([]uid.ID, n)
		if _, err := f.gen.Fill(ctx, ids); err != nil {
			return 0, err
		}
		b.ids = ids
	}
	id := b.ids[0]
	b.ids = b.ids[1:]
	return id, nil
}
