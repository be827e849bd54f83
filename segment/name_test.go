package segment_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
)

// TestNames: a tag is measured in characters, as its column is, so that every tag of a table that exists can be used; and what
// is no text is unknown instead of an error of the database.
func TestNames(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	for kind, width := range map[string]int{"LeafAlloc": 128, "Sequence": 50, "Ticket": 60} {
		src := kinds[kind](db)
		for _, name := range []string{strings.Repeat("段", width), strings.Repeat("x", width), "it's \\ ? 100%", " ", "😀"} {
			if setter, ok := src.(segment.Setter); ok {
				if err := setter.Set(t.Context(), segment.Row{Tag: name, Step: 10}); err != nil {
					t.Errorf("%s: Set(%q) = %v", kind, name, err)
				}
			}
			if r, err := src.Fetch(t.Context(), name, 2); err != nil {
				t.Errorf("%s: Fetch(%q) = %v, %v", kind, name, r, err)
			}
		}
		for _, name := range []string{"", strings.Repeat("段", width+1), strings.Repeat("x", width+1), "\xff", "a\x00b", "\xed\xa0\x80"} {
			if r, err := src.Fetch(t.Context(), name, 2); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("%s: Fetch(%q) = %v, %v, want ErrUnknownTag", kind, name, r, err)
			}
			if setter, ok := src.(segment.Setter); ok {
				if err := setter.Set(t.Context(), segment.Row{Tag: name, Step: 10}); !errors.Is(err, segment.ErrOptions) {
					t.Errorf("%s: Set(%q) = %v, want ErrOptions", kind, name, err)
				}
			}
			if finder, ok := src.(segment.Finder); ok {
				if row, err := finder.Find(t.Context(), name); !errors.Is(err, segment.ErrUnknownTag) {
					t.Errorf("%s: Find(%q) = %v, %v, want ErrUnknownTag", kind, name, row, err)
				}
			}
		}
	}
}

// loose gives the tables a collation that ignores case, accents and spaces at the end.
func loose(tb testing.TB, db *gorm.DB) {
	tb.Helper()
	for _, table := range segment.Tables() {
		run(tb, db, "ALTER TABLE "+table+" CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
	}
}

// TestEqualNames: names that the database takes for one another are tags of their own to a Generator, share a row, and no id.
// The list has one of them, and none is taken for gone.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	loose(t, db)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('cafe', 1, 10)")
	run(t, db, "INSERT INTO t_sequence VALUES ('cafe', 0, 10)")
	for kind, source := range kinds {
		g := generator(t, source(db), nil)
		names := []string{"cafe", "CAFE", "Cafe ", "café"}
		var ids []int64
		handles := map[string]*segment.Tag{}
		for _, name := range names {
			handle, err := g.Tag(t.Context(), name)
			if err != nil {
				t.Fatalf("%s: Tag(%q): %v", kind, name, err)
			}
			handles[name] = handle
		}
		for range 30 {
			for _, name := range names {
				id, err := handles[name].Next(t.Context())
				if err != nil {
					t.Fatalf("%s: Next of %q: %v", kind, name, err)
				}
				ids = append(ids, id)
			}
			if len(ids)%40 == 0 {
				if err := g.Refresh(t.Context()); err != nil {
					t.Fatalf("%s: Refresh: %v", kind, err)
				}
			}
		}
		distinct(t, ids)
		if len(ids) != 120 {
			t.Errorf("%s: %d ids, want 120", kind, len(ids))
		}
	}
}

// TestGoneBesideItsLike: a tag that is deleted is gone, also when another one is called the same but for the case. The table
// compares byte by byte.
func TestGoneBesideItsLike(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	for _, tag := range []string{"order", "Order", "order "} {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, 1, 1000) ON DUPLICATE KEY UPDATE step = 1000", tag)
	}
	g := generator(t, segment.LeafAlloc(db, nil), nil)
	next(t, g, "order", 1)
	next(t, g, "Order", 1)
	awaitQuiet(t, g)
	run(t, db, "DELETE FROM leaf_alloc WHERE biz_tag = 'Order'")
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := g.Next(t.Context(), "Order"); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Next of the deleted tag = %d, %v, want ErrUnknownTag", id, err)
	}
	next(t, g, "order", 1)
}

// TestListSorted: a list is in the order of Tag, whatever the collation's order is.
func TestListSorted(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	loose(t, db)
	for i, tag := range []string{"b", "A", "é", "Z", "_"} {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, ?, 1)", tag, i)
		run(t, db, "INSERT INTO t_sequence VALUES (?, ?, 1)", tag, i)
	}
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		rows, err := kinds[kind](db).(segment.Lister).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 5 || !slices.IsSortedFunc(rows, func(a, b segment.Row) int { return strings.Compare(a.Tag, b.Tag) }) {
			t.Errorf("%s: List = %v, want the five in the order of their bytes", kind, rows)
		}
	}
}

// staleList is a Source whose list is older than its answers.
type staleList struct {
	*fake
	list []segment.Row
}

func (s staleList) List(context.Context) ([]segment.Row, error) { return s.list, nil }

func (s staleList) Find(_ context.Context, tag string) (segment.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return segment.Row{}, errAway
	}
	if row := s.tags[tag]; row != nil {
		return *row, nil
	}
	return segment.Row{}, segment.ErrUnknownTag
}

// TestListOlderThanTag: a tag that came while the list was read, or was deleted and made again, is not taken for gone, nor is any
// tag while a Finder does not answer.
func TestListOlderThanTag(t *testing.T) {
	t.Parallel()
	f := staleList{fake: newFake(10)}
	f.tags["b"] = &segment.Row{Tag: "b", Step: 77}
	g := generator(t, f, &segment.Options{Refresh: -1})
	handles := map[string]*segment.Tag{}
	for _, name := range []string{"a", "b"} {
		var err error
		if handles[name], err = g.Tag(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	f.set(func(f *fake) { f.tags["b"].Step = 500 })
	if err := g.Refresh(t.Context()); err != nil { // its list is empty
		t.Fatal(err)
	}
	for name, handle := range handles {
		if id, err := handle.Next(t.Context()); err != nil {
			t.Errorf("Next of %s, which the list does not have yet = %d, %v", name, id, err)
		}
	}
	if s := stats(t, g, "b"); s.BaseStep != 500 {
		t.Errorf("the step of b is %d, want 500", s.BaseStep)
	}
	f.set(func(f *fake) { f.away = true; delete(f.tags, "a") })
	if err := g.Refresh(t.Context()); !errors.Is(err, errAway) {
		t.Errorf("Refresh with the Finder away = %v, want errAway", err)
	}
	if err := g.Stats().ListErr; !errors.Is(err, errAway) {
		t.Errorf("Stats has the list's error %v, want errAway", err)
	}
	if id, err := handles["a"].Next(t.Context()); err != nil {
		t.Errorf("Next while nobody knows whether the tag is gone = %d, %v", id, err)
	}
	f.set(func(f *fake) { f.away = false })
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := handles["a"].Next(t.Context()); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Next of the tag that is gone = %d, %v, want ErrUnknownTag", id, err)
	}
}
