package sqltable_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestNames: the length of a tag is counted in characters, as that of its column is, so every tag that
// a table can hold works. A tag that is not text is ErrUnknownTag and not an error of the database.
func TestNames(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	for kind, width := range map[string]int{"LeafAlloc": 128, "Sequence": 50, "Ticket": 60} {
		src := kinds[kind](db)
		for _, name := range []string{
			strings.Repeat("段", width), strings.Repeat("x", width), "it's \\ ? 100%", " ", "😀",
		} {
			if setter, ok := src.(segment.Setter); ok {
				if err := setter.Set(t.Context(), segment.Row{Tag: name, Step: 10}); err != nil {
					t.Errorf("%s: Set(%q) = %v", kind, name, err)
				}
			}
			if r, err := src.Fetch(t.Context(), name, 2); err != nil {
				t.Errorf("%s: Fetch(%q) = %v, %v", kind, name, r, err)
			}
		}
		for _, name := range []string{
			"", strings.Repeat("段", width+1), strings.Repeat("x", width+1), "\xff", "a\x00b", "\xed\xa0\x80",
		} {
			if r, err := src.Fetch(t.Context(), name, 2); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("%s: Fetch(%q) = %v, %v, want ErrUnknownTag", kind, name, r, err)
			}
			if setter, ok := src.(segment.Setter); ok {
				err := setter.Set(t.Context(), segment.Row{Tag: name, Step: 10})
				if !errors.Is(err, segment.ErrOptions) {
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

// loose gives the tables a collation that ignores case, accents and trailing spaces.
func loose(tb testing.TB, db *gorm.DB, collation string) {
	tb.Helper()
	for _, table := range sqltable.Tables() {
		run(tb, db, "ALTER TABLE "+table+" CONVERT TO CHARACTER SET utf8mb4 COLLATE "+collation)
	}
}

// TestEqualNames: of the names that the collation treats as equal, only the one in the row is a tag.
// The others are unknown, use up no ids, and leave nothing behind.
func TestEqualNames(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	loose(t, db, "utf8mb4_general_ci")
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('café', 1, 10)")
	run(t, db, "INSERT INTO t_sequence VALUES ('café', 0, 10)")
	for kind, first := range map[string]int64{"LeafAlloc": 1, "Sequence": 10} {
		src := kinds[kind](db)
		g := segtest.New(t, src, nil)
		names := []string{"cafe", "caḟé", "café ", "café  "}
		for i := 1; i < 16; i++ { // every spelling with capitals
			name := []rune("café")
			for bit := range name {
				if i>>bit&1 == 1 {
					name[bit] = unicode.ToUpper(name[bit])
				}
			}
			names = append(names, string(name))
		}
		for _, text := range names {
			if id, err := g.Next(t.Context(), text); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("%s: Next(%q) = %d, %v, want ErrUnknownTag", kind, text, id, err)
			}
			if row, err := src.(segment.Finder).Find(t.Context(), text); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("%s: Find(%q) = %v, %v, want ErrUnknownTag", kind, text, row, err)
			}
			rest := segment.Range{From: first, To: first + 10}
			if ok, err := src.(segment.Returner).Return(t.Context(), text, rest); ok || err != nil {
				t.Errorf("%s: Return of %q = %v, %v, want false", kind, text, ok, err)
			}
		}
		if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "CAFE", Step: 7}); err == nil ||
			!strings.Contains(err.Error(), "collation treats as equal") {
			t.Errorf("%s: Set of CAFE = %v, want an error that mentions the equal tag", kind, err)
		}
		if ids := segtest.Next(t, g, "café", 20); ids[0] != first || ids[19] != first+19 {
			t.Errorf("%s: the ids are %v, want 20 from %d on", kind, ids, first)
		}
		if tags := g.Stats().Tags; len(tags) != 1 {
			t.Errorf("%s: %d tags, want 1", kind, len(tags))
		}
	}
}

// TestGoneBesideItsLike: a deleted tag is gone, even if another tag differs only in case. The table
// compares byte by byte.
func TestGoneBesideItsLike(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	for _, tag := range []string{"order", "Order", "order "} {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, 1, 1000)"+
			" ON DUPLICATE KEY UPDATE step = 1000", tag)
	}
	g := segtest.New(t, sqlsource.LeafAlloc(db, nil), nil)
	segtest.Next(t, g, "order", 1)
	segtest.Next(t, g, "Order", 1)
	segtest.AwaitQuiet(t, g)
	run(t, db, "DELETE FROM leaf_alloc WHERE biz_tag = 'Order'")
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := g.Next(t.Context(), "Order"); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Next of the deleted tag = %d, %v, want ErrUnknownTag", id, err)
	}
	segtest.Next(t, g, "order", 1)
}

// TestListSorted: a list is sorted by the bytes of Tag, whatever the order of the collation.
func TestListSorted(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	loose(t, db, "utf8mb4_general_ci")
	for i, tag := range []string{"b", "A", "é", "Z", "_"} {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, ?, 1)", tag, i)
		run(t, db, "INSERT INTO t_sequence VALUES (?, ?, 1)", tag, i)
	}
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		rows, err := kinds[kind](db).(segment.Lister).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byTag := func(a, b segment.Row) int { return strings.Compare(a.Tag, b.Tag) }
		if len(rows) != 5 || !slices.IsSortedFunc(rows, byTag) {
			t.Errorf("%s: List = %v, want the five in the order of their bytes", kind, rows)
		}
	}
}

// TestCharset: a name with characters that the column's character set lacks cannot be in the table, so
// it is unknown, and is not made under another name. Other names work.
func TestCharset(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	for _, table := range []string{"leaf_alloc", "t_sequence"} {
		run(t, db, "ALTER TABLE "+table+" CONVERT TO CHARACTER SET latin1")
	}
	for kind, table := range map[string]string{"LeafAlloc": "leaf_alloc", "Sequence": "t_sequence"} {
		src := kinds[kind](db)
		setter := src.(segment.Setter)
		if err := setter.Set(t.Context(), segment.Row{Tag: "café", Step: 10}); err != nil {
			t.Fatalf("%s: Set(café) = %v", kind, err)
		}
		for _, step := range []int64{10, 0} { // the first one examines the answers of the server
			for _, name := range []string{"订单", "😀"} {
				if r, err := src.Fetch(t.Context(), name, step); !errors.Is(err, segment.ErrUnknownTag) {
					t.Errorf("%s: Fetch(%q, %d) = %v, %v, want ErrUnknownTag", kind, name, step, r, err)
				}
				if row, err := src.(segment.Finder).Find(t.Context(), name); !errors.Is(err, segment.ErrUnknownTag) {
					t.Errorf("%s: Find(%q) = %v, %v, want ErrUnknownTag", kind, name, row, err)
				}
				err := setter.Set(t.Context(), segment.Row{Tag: name, Step: 10})
				if !errors.Is(err, segment.ErrOptions) {
					t.Errorf("%s: Set(%q) = %v, want ErrOptions", kind, name, err)
				}
			}
			if r, err := src.Fetch(t.Context(), "café", step); err != nil || r.To-r.From != 10 {
				t.Errorf("%s: Fetch(café, %d) = %v, %v, want a range of 10", kind, step, r, err)
			}
		}
		if n := number(t, db, "SELECT COUNT(*) FROM "+table); n != 1 {
			t.Errorf("%s has %d rows, want that of café alone", table, n)
		}
	}
}

// TestNamesElsewhere: the list of a table that is named with its schema needs no table of names, which would be in
// the session's own schema. This session has none.
func TestNamesElsewhere(t *testing.T) {
	t.Parallel()
	_, db := counters(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a@1', 1, 10)")
	var schema string
	if err := db.Raw("SELECT DATABASE()").Row().Scan(&schema); err != nil {
		t.Fatal(err)
	}
	src := sqlsource.LeafAlloc(open(t, servers.MariaDB(t).DSN("")),
		&sqltable.LeafAllocOptions{Table: schema + ".leaf_alloc"})
	g, err := segment.New(t.Context(), src, &segment.Options{Listed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := g.Next(t.Context(), "a@1"); err != nil {
		t.Error(err)
	}
}
