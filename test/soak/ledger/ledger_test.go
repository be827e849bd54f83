package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

func newLedger(t *testing.T, l bitsalloc.Layout) *Ledger {
	t.Helper()
	alloc, err := bitsalloc.New(l)
	if err != nil {
		t.Fatal(err)
	}
	return New(alloc)
}

// TestDuplicates: an id that is repeated is counted, whatever its source is the second time, and also
// when its tick is complete.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	l := newLedger(t, bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 2})
	id := func(tick, worker, seq int64) uid.ID {
		n, err := l.alloc.Compose(tick, worker, seq)
		if err != nil {
			t.Fatal(err)
		}
		return uid.ID(n)
	}
	l.Add(1, []uid.ID{id(7, 3, 0), id(7, 3, 1), id(8, 3, 0), id(7, 4, 0)})
	l.Add(2, []uid.ID{id(7, 3, 2), id(7, 3, 3), id(7, 3, 2)}) // completes the tick; then a duplicate
	l.Add(2, []uid.ID{id(8, 3, 0), id(7, 5, 0), -1})
	want := []uid.ID{id(7, 3, 2), id(8, 3, 0)}
	s := l.Sum()
	if s.IDs != 10 || s.Duplicates != 2 || s.Foreign != 1 || !slices.Equal(s.First, want) {
		t.Errorf("Sum() = %+v, want 10 ids, 1 of them foreign, 2 duplicates %v", s, want)
	}
	if s.Workers != 3 || s.Shared != 1 {
		t.Errorf("%d worker ids, %d of them shared, want 3 and 1", s.Workers, s.Shared)
	}
	if one, two, none := l.From(1), l.From(2), l.From(3); one != 4 || two != 6 || none != 0 {
		t.Errorf("%d, %d and %d ids from the sources, want 4, 6 and 0", one, two, none)
	}
	for _, tt := range []struct {
		id   uid.ID
		want bool
	}{{id(7, 3, 3), true}, {id(8, 3, 0), true}, {id(8, 3, 1), false}, {id(9, 3, 0), false}, {id(7, 9, 0), false}} {
		if got := l.Has(tt.id); got != tt.want {
			t.Errorf("Has(%d) = %v, want %v", tt.id, got, tt.want)
		}
	}
}

// TestShuffled adds ids in random order, each once or twice. The duplicates are counted, and complete
// ticks have no pages.
func TestShuffled(t *testing.T) {
	t.Parallel()
	l := newLedger(t, bitsalloc.Layout{TimeBits: 30, WorkerBits: 4, SeqBits: 3})
	var ids []uid.ID
	for tick := range int64(200) {
		for worker := range int64(3) {
			for seq := range int64(8) {
				n, err := l.alloc.Compose(tick, worker, seq)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, uid.ID(n))
			}
		}
	}
	all := int64(len(ids))
	ids = append(ids, ids[:500]...)
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for part := range slices.Chunk(ids, 97) {
		l.Add(0, part)
	}
	if s := l.Sum(); s.Duplicates != 500 || s.IDs != all+500 {
		t.Errorf("Sum() = %+v, want %d ids and 500 duplicates", s, all+500)
	}
	for _, w := range l.workers {
		if len(w.full) != 1 || w.full[0] != (span{0, 200}) {
			t.Errorf("spans = %v, want one of all 200 ticks", w.full)
		}
	}
	if len(l.workers) != 3 || l.Pages() != 0 {
		t.Errorf("%d worker ids and %d pages, want 3 and none", len(l.workers), l.Pages())
	}
}
