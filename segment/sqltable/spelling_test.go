package sqltable_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// spellings returns 16,000 spellings of "order", itself among them, that the collation
// utf8mb4_unicode_ci treats as equal. They differ in case, accents, width and trailing spaces.
func spellings() []string {
	names := []string{""}
	for _, letters := range []string{"oOöÖóｏＯ", "rRřŔｒＲ", "dDďＤ", "eEéÈｅ", "rRŕŘｒＲ"} {
		var longer []string
		for _, name := range names {
			for _, letter := range letters {
				longer = append(longer, name+string(letter))
			}
		}
		names = longer
	}
	plain := len(names)
	for i := 0; len(names) < 16_000; i++ {
		names = append(names, names[i%plain]+strings.Repeat(" ", 1+i/plain))
	}
	return names
}

// watched counts the fetches of a source.
type watched struct {
	segment.Source
	fetches, now, most atomic.Int64 // all of them, those under way, and the most at a time
}

func (w *watched) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	w.fetches.Add(1)
	now := w.now.Add(1)
	defer w.now.Add(-1)
	for most := w.most.Load(); now > most && !w.most.CompareAndSwap(most, now); {
		most = w.most.Load()
	}
	return w.Source.Fetch(ctx, tag, step)
}

// TestManySpellings: of 16,000 spellings that the collation treats as equal, one is a tag, and callers
// of the others get ErrUnknownTag. They use up no ids. Each costs one fetch at most, eight at a time,
// and leaves nothing in memory. It runs alone, because it measures the heap.
func TestManySpellings(t *testing.T) { //nolint:paralleltest // see above
	if testing.Short() {
		t.Skip("long: 16,000 names, and nothing runs beside it")
	}
	const tag, callers = "order", 64
	_, db := database(t)
	loose(t, db, "utf8mb4_unicode_ci")
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, 0, 10)", tag)
	names := spellings()
	equal(t, db, names, tag)
	src := &watched{Source: kinds["LeafAlloc"](db)}
	g := segtest.New(t, src, &segment.Options{MaxStep: 1, Refresh: -1})
	segtest.Next(t, g, tag, 1)
	segtest.AwaitQuiet(t, g)
	src.fetches.Store(0)
	before := heap()

	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := i; n < len(names); n += callers {
				id, err := g.Next(t.Context(), names[n])
				if names[n] == tag && err != nil || names[n] != tag && !errors.Is(err, segment.ErrUnknownTag) {
					t.Errorf("Next(%q) = %d, %v, want ErrUnknownTag for all but %q", names[n], id, err, tag)
				}
			}
		})
	}
	wg.Wait()
	if n, most := src.fetches.Load(), src.most.Load(); n > int64(len(names)) || most > 8 {
		t.Errorf("%d fetches, up to %d at a time, want at most %d and 8", n, most, len(names))
	}
	if grown := heap() - before; grown > 2<<20 {
		t.Errorf("the heap has grown by %d bytes, want at most 2 MiB", grown)
	}
	if tags := g.Stats().Tags; len(tags) != 1 {
		t.Errorf("%d tags, want 1", len(tags))
	}
	if at := number(t, db, "SELECT max_id FROM leaf_alloc"); at != 20 {
		t.Errorf("the counter is at %d, want 20 for two ranges of 10", at)
	}
	runtime.KeepAlive(g)
	runtime.KeepAlive(names)
}

// heap returns how many bytes are in use on the heap after a garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// equal checks that the collation treats every name as equal to tag and that no name occurs twice.
func equal(t *testing.T, db *gorm.DB, names []string, tag string) {
	t.Helper()
	run(t, db, "CREATE TABLE spellings (name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
	for part := names; len(part) > 0; {
		n := min(len(part), 4000)
		args := make([]any, n)
		for i, name := range part[:n] {
			args[i] = name
		}
		run(t, db, "INSERT INTO spellings VALUES (?)"+strings.Repeat(", (?)", n-1), args...)
		part = part[n:]
	}
	var n int
	if err := db.Raw("SELECT COUNT(DISTINCT HEX(name)) FROM spellings WHERE CONVERT(name USING utf8mb4)"+
		" COLLATE utf8mb4_unicode_ci = ?", tag).Scan(&n).Error; err != nil || n != 16_000 {
		t.Fatalf("%d spellings are equal, %v, want 16,000", n, err)
	}
}
