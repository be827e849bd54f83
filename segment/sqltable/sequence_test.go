package sqltable_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// channelNo is a node of the original. Its blocks have 1000 ids, whatever the row's increment is.
type channelNo struct {
	db         *gorm.DB
	start, now int64
}

const cacheNum = 1000

// fetch is the original's transaction: lock the row, add the increment, read the value.
func (c *channelNo) fetch(tb testing.TB) {
	tb.Helper()
	if c.start >= math.MaxInt64-cacheNum { // without the row's lock: another node may have reset it
		run(tb, c.db, "UPDATE t_sequence SET current_val = 0 WHERE pk_seq_name = 'a'")
	}
	err := c.db.Transaction(func(tx *gorm.DB) error {
		number(tb, tx, "SELECT current_val FROM t_sequence WHERE pk_seq_name = 'a' FOR UPDATE")
		run(tb, tx, "UPDATE t_sequence SET current_val = current_val + increment_val WHERE pk_seq_name = 'a'")
		c.start = number(tb, tx, "SELECT current_val FROM t_sequence WHERE pk_seq_name = 'a'")
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	c.now = c.start
}

func (c *channelNo) next(tb testing.TB) int64 {
	tb.Helper()
	if c.start == 0 || c.now >= c.start+cacheNum-1 {
		c.fetch(tb)
		return c.now
	}
	c.now++
	return c.now
}

func sequenceRow(tb testing.TB, current int64, increment int) (string, *gorm.DB) {
	tb.Helper()
	dsn, db := database(tb)
	run(tb, db, "INSERT INTO t_sequence VALUES ('a', ?, ?)", current, increment)
	return dsn, db
}

// TestSequenceTable: the table has the columns of the original, with its types and its defaults of 0
// and 1.
func TestSequenceTable(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	var columns string
	err := db.Raw("SELECT GROUP_CONCAT(column_name, ' ', column_type, ' ', column_key" +
		" ORDER BY ordinal_position SEPARATOR '; ') FROM information_schema.columns" +
		" WHERE table_schema = DATABASE() AND table_name = 't_sequence'").Row().Scan(&columns)
	want := "pk_seq_name varchar(50) PRI; current_val bigint ; increment_val int "
	columns = intWidth.ReplaceAllString(columns, "int")
	if err != nil || columns != want {
		t.Errorf("the columns are %q, %v, want %q", columns, err, want)
	}
	run(t, db, "INSERT INTO t_sequence (pk_seq_name) VALUES ('a')")
	if n := number(t, db, "SELECT COUNT(*) FROM t_sequence WHERE current_val = 0 AND increment_val = 1"); n != 1 {
		t.Errorf("%d rows with the defaults 0 and 1, want 1", n)
	}
	r := segtest.Fetch(t, sqlsource.Sequence(db, nil), "a", 0)
	if segtest.Bounds(r) != "[1, 2)" {
		t.Errorf("the first block at 0 and 1 is %v, want [1, 2)", r)
	}
}

// TestSequenceNumbers: with 0 and 1000 stored the first id is 1000 and the next block begins at 2000,
// as for a node of the original, with which Sequence shares the table.
func TestSequenceNumbers(t *testing.T) {
	t.Parallel()
	dsn, db := sequenceRow(t, 0, 1000)
	original := &channelNo{db: open(t, dsn)}
	ours := segtest.New(t, sqlsource.Sequence(db, nil), &segment.Options{MaxStep: 1})
	ids := segtest.Next(t, ours, "a", 1) // and 2000..2999 is prefetched
	segtest.AwaitQuiet(t, ours)
	if ids[0] != 1000 {
		t.Errorf("the first id is %d, want 1000", ids[0])
	}
	if id := original.next(t); id != 3000 {
		t.Errorf("the original's first id is %d, want 3000", id)
	}
	ids = append(ids, 3000)
	for range cacheNum - 1 {
		ids = append(ids, original.next(t))
	}
	if got := ids[len(ids)-1]; got != 3999 {
		t.Errorf("the last id of the original's block is %d, want 3999", got)
	}
	ids = append(ids, segtest.Next(t, ours, "a", 2500)...)
	ids = append(ids, original.next(t))
	segtest.Distinct(t, ids)
	if last := ids[0]; last != 1000 {
		t.Errorf("the lowest id is %d, want 1000: 0..999 is never used", last)
	}
}

// TestSequenceIncrement: with an increment other than 1000 the original hands out ids twice or leaves
// gaps. A block of Sequence is as long as the stored increment.
func TestSequenceIncrement(t *testing.T) {
	t.Parallel()
	dsn, _ := sequenceRow(t, 0, 1)
	nodes := []*channelNo{{db: open(t, dsn)}, {db: open(t, dsn)}}
	seen, twice := map[int64]bool{}, 0
	for i := range 5000 {
		id := nodes[i%2].next(t)
		if seen[id] {
			twice++
		}
		seen[id] = true
	}
	if twice != 3997 {
		t.Errorf("the original hands out %d of 5000 ids twice, want 3997", twice)
	}
	dsn, _ = sequenceRow(t, 0, 2000)
	node := &channelNo{db: open(t, dsn)}
	for range cacheNum {
		node.next(t)
	}
	last := node.now
	if id := node.next(t); last != 2999 || id != 4000 {
		t.Errorf("with an increment of 2000 the original goes on from %d to %d, want a gap from 2999 to 4000",
			last, id)
	}

	for _, increment := range []int{1, 7, 1000, 2000} {
		dsn, _ := sequenceRow(t, 0, increment)
		var ids []int64
		for range 2 {
			ids = append(ids, segtest.Next(t, segtest.New(t, sqlsource.Sequence(open(t, dsn), nil), nil), "a", 300)...)
		}
		segtest.Distinct(t, ids)
		if len(ids) != 600 {
			t.Errorf("increment %d: %d ids, want 600", increment, len(ids))
		}
	}
}

// TestSequenceIncrementChanges: a claim uses the increment that the row has now, and not an earlier
// one.
func TestSequenceIncrementChanges(t *testing.T) {
	t.Parallel()
	_, db := sequenceRow(t, 0, 10)
	src := sqlsource.Sequence(db, nil)
	for _, tt := range []struct {
		increment int
		want      string
	}{{10, "[10, 20)"}, {50, "[60, 110)"}, {50, "[110, 160)"}} {
		run(t, db, "UPDATE t_sequence SET increment_val = ?", tt.increment)
		if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != tt.want || r.Step != int64(tt.increment) {
			t.Errorf("increment %d: the block is %v with step %d, want %s", tt.increment, r, r.Step, tt.want)
		}
	}
	// After the increment is lowered by hand, the next block begins inside the last one.
	g := segtest.New(t, src, &segment.Options{MaxStep: 1})
	segtest.Next(t, g, "a", 1)
	segtest.AwaitQuiet(t, g)
	run(t, db, "UPDATE t_sequence SET increment_val = 10")
	if err := refuses(t, g, "a"); !errors.Is(err, segment.ErrRangeWentBack) {
		t.Errorf("Next after the increment was lowered by hand = %v, want ErrRangeWentBack", err)
	}
	// Set keeps the next block's first id.
	_, db = sequenceRow(t, 0, 1000)
	src = sqlsource.Sequence(db, nil)
	segtest.Fetch(t, src, "a", 0) // [1000, 2000)
	if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
		t.Fatalf("Set: %v", err)
	}
	if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != "[2000, 2010)" {
		t.Errorf("the block after Set lowered the increment is %v, want [2000, 2010)", r)
	}
}

// TestSequenceReset: two nodes of the original that find the counter used up reset it one after the
// other, outside the lock, and both get 1000. A used-up counter of Sequence is an error, or begins
// again once, in the statement that claims.
func TestSequenceReset(t *testing.T) {
	t.Parallel()
	const limit = math.MaxInt64 - cacheNum
	dsn, db := sequenceRow(t, limit, 1000)
	nodes := []*channelNo{
		{db: open(t, dsn), start: limit, now: math.MaxInt64 - 1},
		{db: open(t, dsn), start: limit, now: math.MaxInt64 - 1},
	}
	for i, n := range nodes {
		if id := n.next(t); id != 1000 {
			t.Errorf("node %d of the original got %d after the reset, want 1000 as the other one", i+1, id)
		}
	}

	reset := func() { run(t, db, "UPDATE t_sequence SET current_val = ?", int64(math.MaxInt64-1500)) }
	for name, open := range map[string]func(cycle bool) segment.Source{
		"one statement": func(cycle bool) segment.Source {
			return sqlsource.Sequence(open(t, dsn), &sqltable.SequenceOptions{Cycle: cycle})
		},
	} {
		reset()
		if r, err := open(false).Fetch(t.Context(), "a", 0); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("%s: Fetch of a used-up counter = %v, %v, want ErrExhausted", name, r, err)
		}
		a, b := open(true), open(true)
		for i, src := range []segment.Source{a, b, a} {
			r := segtest.Fetch(t, src, "a", 0)
			if want := int64(1000 * (i + 1)); r.From != want || !r.Cyclic {
				t.Errorf("%s: block %d after the counter was used up is %v, cyclic %v, want it to begin at %d",
					name, i+1, r, r.Cyclic, want)
			}
		}
	}
}

// TestSequenceMissingRow: a name without a row is ErrUnknownTag. It works once it has a row.
func TestSequenceMissingRow(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	g := segtest.New(t, sqlsource.Sequence(db, nil), nil)
	if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrUnknownTag) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("Next without a row = %d, %v, want ErrUnknownTag with the name", id, err)
	}
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 1000)")
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ids := segtest.Next(t, g, "a", 1); ids[0] != 1000 {
		t.Errorf("the first id after the row was inserted is %d, want 1000", ids[0])
	}
}

// TestSequenceOverflow: a counter that the original's update cannot advance is ErrExhausted.
func TestSequenceOverflow(t *testing.T) {
	t.Parallel()
	_, db := sequenceRow(t, math.MaxInt64-5, 1000)
	err := db.Exec("UPDATE t_sequence SET current_val = current_val + increment_val").Error
	if err == nil || !strings.Contains(err.Error(), "1690") {
		t.Errorf("the original's update = %v, want error 1690", err)
	}
	for _, step := range []int64{0, 1, 5000} {
		if r, err := sqlsource.Sequence(db, nil).Fetch(t.Context(), "a", step); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Fetch with step %d = %v, %v, want ErrExhausted", step, r, err)
		}
	}
}

// TestSequenceBlocks: a fetch takes as many blocks as hold the ids that are asked for, and at least
// one. If they do not all fit below 2^63, it takes one. A node of the original takes one in between.
func TestSequenceBlocks(t *testing.T) {
	t.Parallel()
	dsn, db := sequenceRow(t, 0, 1000)
	src, original := sqlsource.Sequence(db, nil), &channelNo{db: open(t, dsn)}
	for _, tt := range []struct {
		step int64
		want string
	}{
		{0, "[1000, 2000)"}, {1, "[2000, 3000)"}, {1000, "[3000, 4000)"}, {1001, "[4000, 6000)"},
		{5000, "[6000, 11000)"}, {-1, "[11000, 12000)"}, {2500, "[12000, 15000)"},
	} {
		if tt.step < 0 {
			if id := original.next(t); id != 11000 {
				t.Errorf("the original's first id is %d, want 11000", id)
			}
			continue
		}
		if r := segtest.Fetch(t, src, "a", tt.step); segtest.Bounds(r) != tt.want || r.Step != 1000 {
			t.Errorf("Fetch with step %d = %v with step %d, want %s", tt.step, r, r.Step, tt.want)
		}
	}
	for _, tt := range []struct {
		opts  sqltable.SequenceOptions
		wants []string // for a counter with room for three blocks
	}{
		{sqltable.SequenceOptions{}, []string{
			"[9223372036854772807, 9223372036854773807)", "[9223372036854773807, 9223372036854775807)", "",
		}},
		{sqltable.SequenceOptions{Cycle: true}, []string{
			"[9223372036854772807, 9223372036854773807)", "[9223372036854773807, 9223372036854775807)",
			"[1000, 2000)",
		}},
	} {
		src := sqlsource.Sequence(db, &tt.opts)
		run(t, db, "UPDATE t_sequence SET current_val = ?", int64(math.MaxInt64-4000))
		for i, step := range []int64{5000, 2000, 2000} {
			r, err := src.Fetch(t.Context(), "a", step)
			want := tt.wants[i]
			if want == "" && !errors.Is(err, segment.ErrExhausted) || want != "" && segtest.Bounds(r) != want {
				t.Errorf("%+v: Fetch number %d at the end = %v, %v, want %q", tt.opts, i, r, err, want)
			}
		}
	}
}

// TestSequenceFew: with the table's default increment of 1, a tag needs far less than a fetch per id.
func TestSequenceFew(t *testing.T) {
	t.Parallel()
	_, db := sequenceRow(t, 0, 1)
	fetches := 0
	src := sqlsource.Sequence(db, nil)
	g := segtest.New(t, segtest.Func(func(ctx context.Context, tag string, step int64) (segment.Range, error) {
		fetches++
		return src.Fetch(ctx, tag, step)
	}), nil)
	ids := segtest.Next(t, g, "a", 5000)
	segtest.AwaitQuiet(t, g)
	segtest.Distinct(t, ids)
	if fetches > 15 {
		t.Errorf("%d ids took %d fetches, want at most 15", len(ids), fetches)
	}
}

// TestSequenceFromCurrent: with the option the ids from 0 on are used, and no block overlaps when
// the increment is lowered.
func TestSequenceFromCurrent(t *testing.T) {
	t.Parallel()
	_, db := sequenceRow(t, 0, 1000)
	src := sqlsource.Sequence(db, &sqltable.SequenceOptions{FromCurrent: true})
	for _, tt := range []struct {
		increment int
		want      string
	}{{1000, "[0, 1000)"}, {1000, "[1000, 2000)"}, {10, "[2000, 2010)"}} {
		run(t, db, "UPDATE t_sequence SET increment_val = ?", tt.increment)
		if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != tt.want {
			t.Errorf("increment %d: the block is %v, want %s", tt.increment, r, tt.want)
		}
	}
}

// TestSequenceNamesApart: a fetch that waits for a locked row does not delay the fetches of other names,
// even in the same Generator. The original has one lock for all names.
func TestSequenceNamesApart(t *testing.T) {
	t.Parallel()
	dsn, db := sequenceRow(t, 0, 1000)
	run(t, db, "INSERT INTO t_sequence VALUES ('b', 0, 1000)")
	g := segtest.New(t, sqlsource.Sequence(open(t, dsn), nil), &segment.Options{FetchTimeout: time.Minute})
	tx := db.Begin()
	defer tx.Rollback()
	number(t, tx, "SELECT current_val FROM t_sequence WHERE pk_seq_name = 'a' FOR UPDATE")
	held := make(chan error, 1)
	go func() {
		_, err := g.Next(t.Context(), "a")
		held <- err
	}()
	for number(t, db, "SELECT COUNT(*) FROM information_schema.processlist"+
		" WHERE db = DATABASE() AND info LIKE '%t_sequence%FOR UPDATE%'") == 0 {
		time.Sleep(time.Millisecond) // until the database has the statement
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ids := make([]int64, 2500) // into the third block
	if _, err := g.Fill(ctx, "b", ids); err != nil || ids[0] != 1000 || ids[2499] != 3499 {
		t.Errorf("the ids of b while a fetch of a waits are %d to %d, %v, want 1000 to 3499", ids[0], ids[2499], err)
	}
	select {
	case err := <-held:
		t.Errorf("Next of the locked name = %v, want it to wait", err)
	default:
	}
	if err := tx.Rollback().Error; err != nil {
		t.Fatal(err)
	}
	if err := <-held; err != nil {
		t.Errorf("Next of the name that was locked: %v", err)
	}
}

// refuses takes ids of tag until a call fails, and returns its error.
func refuses(tb testing.TB, g *segment.Generator, tag string) error {
	tb.Helper()
	for range 100_000 {
		if _, err := g.Next(tb.Context(), tag); err != nil {
			return err
		}
	}
	tb.Fatal("100,000 ids and no error")
	return nil
}
