package sqltable_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// intWidth is the display width of an integer's type, which MySQL no longer has.
var intWidth = regexp.MustCompile(`int\(\d+\)`)

// TestLeafAllocTable: the table has the columns of the original, with the same types and defaults.
func TestLeafAllocTable(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	rows, err := db.Raw("SELECT column_name, column_type, column_key, column_default FROM information_schema.columns" +
		" WHERE table_schema = DATABASE() AND table_name = 'leaf_alloc' ORDER BY ordinal_position").Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name, typ, key string
		var def *string
		if err := rows.Scan(&name, &typ, &key, &def); err != nil {
			t.Fatal(err)
		}
		if def == nil {
			def = new(string)
		}
		value := strings.TrimSuffix(strings.ToLower(*def), "()") // servers differ in the notation
		typ = intWidth.ReplaceAllString(typ, "int")
		got = append(got, strings.Join([]string{name, typ, key, strings.TrimPrefix(value, "null")}, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"biz_tag varchar(128) PRI ", "max_id bigint  1", "step int  ",
		"desc varchar(256)  ", "update_time timestamp  current_timestamp",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the columns are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLeafAllocNumbers: three nodes with step 1000 get 1..1000, 1001..2000 and 2001..3000. The node
// that fetches again gets 3001..4000, and max_id goes from 3001 to 4001. Tags are independent.
func TestLeafAllocNumbers(t *testing.T) {
	t.Parallel()
	dsn, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 1000), ('user', 10)") // max_id is 1 by default
	var nodes []segment.Source
	for range 3 {
		nodes = append(nodes, sqlsource.LeafAlloc(open(t, dsn), nil))
	}
	for _, tt := range []struct {
		node  int
		tag   string
		want  string
		maxID int64
	}{
		{0, "order", "[1, 1001)", 1001}, {1, "order", "[1001, 2001)", 2001}, {2, "order", "[2001, 3001)", 3001},
		{0, "order", "[3001, 4001)", 4001},
		{0, "user", "[1, 11)", 11}, {1, "user", "[11, 21)", 21},
		{1, "order", "[4001, 5001)", 5001},
	} {
		r := segtest.Fetch(t, nodes[tt.node], tt.tag, 0)
		if segtest.Bounds(r) != tt.want {
			t.Errorf("node %d got %v of %s, want %s", tt.node+1, r, tt.tag, tt.want)
		}
		if got := number(t, db, "SELECT max_id FROM leaf_alloc WHERE biz_tag = ?", tt.tag); got != tt.maxID {
			t.Errorf("max_id of %s is %d, want %d", tt.tag, got, tt.maxID)
		}
	}
}

// TestLeafBesideOurs: nodes of Leaf and LeafAlloc take turns on a table that Leaf created, whose column
// for remarks has another name. Their ranges are disjoint.
func TestLeafBesideOurs(t *testing.T) {
	t.Parallel()
	dsn, db := database(t)
	run(t, db, "DROP TABLE leaf_alloc")
	run(t, db, "CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '',"+
		" max_id bigint(20) NOT NULL DEFAULT 1, step int(11) NOT NULL, description varchar(256) DEFAULT NULL,"+
		" update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,"+
		" PRIMARY KEY (biz_tag)) ENGINE = InnoDB DEFAULT CHARSET = utf8 COLLATE = utf8_general_ci")
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, step, description) VALUES ('a', 10, 'remarks')")
	leaf := open(t, dsn)
	src := sqlsource.LeafAlloc(db, nil)
	at := int64(1)
	for range 5 {
		var value, end int64 // of Leaf's segment, which hands out value up to end-1
		err := leaf.Transaction(func(tx *gorm.DB) error {
			run(t, tx, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'a'")
			end = number(t, tx, "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'a'")
			value = end - number(t, tx, "SELECT step FROM leaf_alloc WHERE biz_tag = 'a'")
			return nil
		})
		if err != nil || value != at || end != at+10 {
			t.Errorf("Leaf's segment is %d up to %d, %v, want it to begin at %d", value, end, err, at)
		}
		if r := segtest.Fetch(t, src, "a", 25); r.From != end || r.To != end+25 {
			t.Errorf("our range is %v, want 25 ids from %d on", r, end)
		}
		at = end + 25
	}
	if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "b", Step: 10}); err != nil {
		t.Errorf("Set of a new tag in Leaf's table: %v", err)
	}
}

// TestLeafAllocWrites: the database is written once per step ids.
func TestLeafAllocWrites(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 100)")
	g := segtest.New(t, sqlsource.LeafAlloc(db, nil), &segment.Options{MaxStep: 1})
	segtest.Next(t, g, "a", 1000) // the range 901..1000 is used up, and 1001..1100 was fetched at the 910th id
	segtest.AwaitQuiet(t, g)
	if fetches := g.Stats().Tags[0].Fetches; fetches != 11 {
		t.Errorf("1000 ids at a step of 100 took %d fetches, want 11", fetches)
	}
	if got := number(t, db, "SELECT max_id FROM leaf_alloc"); got != 1101 {
		t.Errorf("max_id is %d, want 1101", got)
	}
}

// TestLeafAllocRoundTrips: a fetch of LeafAlloc is one statement and two COMMITs. A fetch of Sequence
// takes one statement more. The originals each take one more than that.
func TestLeafAllocRoundTrips(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 100)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 100)")
	questions := func() int64 {
		var name string
		var n int64
		if err := db.Raw("SHOW SESSION STATUS LIKE 'Questions'").Row().Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	leaf, sequence := sqlsource.LeafAlloc(db, nil), sqlsource.Sequence(db, nil)
	for _, tt := range []struct {
		name  string
		fetch func()
		want  int64
	}{
		{"LeafAlloc", func() { segtest.Fetch(t, leaf, "a", 100) }, 30},
		{"Sequence", func() { segtest.Fetch(t, sequence, "a", 0) }, 40},
		{"the original sequence", func() { (&channelNo{db: db}).fetch(t) }, 50},
		{"the original", func() {
			err := db.Transaction(func(tx *gorm.DB) error {
				run(t, tx, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'a'")
				number(t, tx, "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'a'")
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}, 40},
	} {
		tt.fetch() // the first fetch also examines the server
		before := questions()
		between := questions() - before
		for range 10 {
			tt.fetch()
		}
		if got := questions() - before - 2*between; got != tt.want {
			t.Errorf("10 fetches of %s were %d statements, want %d", tt.name, got, tt.want)
		}
	}
}

// TestLeafAllocTwoStatements: if the original's update and select of two nodes interleave, without a
// transaction, both nodes get the same segment. A fetch is one statement and cannot interleave.
func TestLeafAllocTwoStatements(t *testing.T) {
	t.Parallel()
	dsn, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
	nodes := []*gorm.DB{open(t, dsn), open(t, dsn)}
	for _, node := range nodes {
		run(t, node, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'a'")
	}
	var original []int64
	for _, node := range nodes {
		original = append(original, number(t, node, "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'a'"))
	}
	if original[0] != original[1] {
		t.Errorf("the original's nodes got the segments that end at %v, want both the same", original)
	}

	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		froms []int64
	)
	for range 8 {
		src := sqlsource.LeafAlloc(open(t, dsn), nil)
		wg.Go(func() {
			for range 250 {
				r, err := src.Fetch(t.Context(), "a", 10)
				if err != nil {
					t.Errorf("Fetch: %v", err)
					return
				}
				mu.Lock()
				froms = append(froms, r.From)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	segtest.Distinct(t, froms)
	if len(froms) != 2000 {
		t.Errorf("%d segments, want 2000", len(froms))
	}
}

// TestLeafAllocOverflow: at 2^63 the original's update fails with the database's error 1690. A fetch
// without room returns ErrExhausted, at every step, and leaves the row as it is.
func TestLeafAllocOverflow(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', ?, 10)", int64(math.MaxInt64-5))
	err := db.Exec("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'a'").Error
	if err == nil || !strings.Contains(err.Error(), "1690") {
		t.Errorf("the original's update = %v, want error 1690", err)
	}
	for name, src := range map[string]segment.Source{
		"one statement": sqlsource.LeafAlloc(db, nil), "read first": reading(db),
	} {
		for _, step := range []int64{0, 6, 1000, 1 << 31} {
			if r, err := src.Fetch(t.Context(), "a", step); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("%s: Fetch(step %d) = %v, %v, want ErrExhausted", name, step, r, err)
			}
		}
	}
	if r := segtest.Fetch(t, sqlsource.LeafAlloc(db, nil), "a", 5); r.To != math.MaxInt64 {
		t.Errorf("the last 5 ids are %v, want them to end at 2^63-1", r)
	}
}

// TestLeafAllocWentBack: after the database has lost its last writes, calls fail with
// ErrRangeWentBack, also later ones, and no id is handed out twice.
func TestLeafAllocWentBack(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10), ('b', 1, 10)")
	g := segtest.New(t, sqlsource.LeafAlloc(db, nil), &segment.Options{MaxStep: 1})
	ids := segtest.Next(t, g, "a", 31) // the fourth range is in use, and the fifth is fetched
	segtest.AwaitQuiet(t, g)
	run(t, db, "UPDATE leaf_alloc SET max_id = 45 WHERE biz_tag = 'a'") // from 51
	ids = append(ids, segtest.Next(t, g, "a", 19)...)
	for range 3 {
		id, err := g.Next(t.Context(), "a")
		if !errors.Is(err, segment.ErrRangeWentBack) || !strings.Contains(fmt.Sprint(err), "below 51") {
			t.Errorf("Next = %d, %v, want ErrRangeWentBack with the bound 51", id, err)
		}
	}
	segtest.Distinct(t, ids)
	if id := segtest.Next(t, g, "b", 1)[0]; id != 1 {
		t.Errorf("another tag's first id is %d, want 1", id)
	}
}

// TestLeafAllocBadRow: an invalid row is ErrBadRange and is not changed.
func TestLeafAllocBadRow(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "ALTER TABLE leaf_alloc MODIFY step BIGINT NOT NULL")
	run(t, db, "ALTER TABLE t_sequence MODIFY increment_val BIGINT NOT NULL")
	const rows = " VALUES ('zero', 1, 0), ('below', -100, 10), ('long', 1, 2147483649)," +
		" ('longest', 1, 9223372036854775807)"
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step)"+rows)
	run(t, db, "INSERT INTO t_sequence"+rows)
	for name, src := range map[string]segment.Source{
		"LeafAlloc": sqlsource.LeafAlloc(db, nil), "LeafAlloc that reads": reading(db),
		"Sequence": sqlsource.Sequence(db, nil),
	} {
		for _, tag := range []string{"zero", "below", "long", "longest"} {
			for _, step := range []int64{0, 10} { // a client may name a step of its own
				if r, err := src.Fetch(t.Context(), tag, step); !errors.Is(err, segment.ErrBadRange) {
					t.Errorf("%s: Fetch(%q, %d) = %v, %v, want ErrBadRange", name, tag, step, r, err)
				}
			}
		}
	}
	for range 2 { // the first try must not advance the counter
		r, err := sqlsource.LeafAlloc(db, nil).Fetch(t.Context(), "below", 200)
		if !errors.Is(err, segment.ErrBadRange) {
			t.Errorf("Fetch of a counter at -100 with step 200 = %v, %v, want ErrBadRange", r, err)
		}
	}
	got := number(t, db, "SELECT COUNT(*) FROM leaf_alloc JOIN t_sequence ON pk_seq_name = biz_tag"+
		" WHERE max_id = 1 AND current_val = 1")
	if got != 3 {
		t.Errorf("%d rows with an invalid step have their counters unchanged, want 3", got)
	}
}

// TestTwoRows: a table that has lost its unique key since it was examined and has a tag twice gives
// no range, because the statement's answer may be from either row. A source that begins there
// refuses the table.
func TestTwoRows(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	sources := func() map[string]segment.Source {
		return map[string]segment.Source{
			"LeafAlloc": sqlsource.LeafAlloc(db, nil), "LeafAlloc that reads": reading(db),
			"Sequence": sqlsource.Sequence(db, nil),
		}
	}
	old := sources()
	for name, src := range old {
		if err := src.(segment.Checker).Check(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	run(t, db, "ALTER TABLE leaf_alloc DROP PRIMARY KEY")
	run(t, db, "ALTER TABLE t_sequence DROP PRIMARY KEY")
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10), ('a', 501, 10)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10), ('a', 500, 10)")
	for want, all := range map[string]map[string]segment.Source{
		"more than one row": old, "has no primary or unique key": sources(),
	} {
		for name, src := range all {
			r, err := src.Fetch(t.Context(), "a", 20)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: Fetch = %v, %v, want an error with %q", name, r, err, want)
			}
			// The failure has the table examined again.
			if _, err := src.Fetch(t.Context(), "a", 0); err == nil {
				t.Errorf("%s: Fetch with step 0 gives a range, want an error", name)
			}
		}
	}
}

func TestLeafAllocOptions(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "CREATE TABLE `my leaf` LIKE leaf_alloc")
	src := sqlsource.LeafAlloc(db, &sqltable.LeafAllocOptions{Table: "my leaf"})
	if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Step: 3}); err != nil {
		t.Fatalf("Set in another table: %v", err)
	}
	if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != "[1, 4)" {
		t.Errorf("the first range is %v, want [1, 4)", r)
	}
	for name, src := range map[string]segment.Source{
		"LeafAlloc": sqlsource.LeafAlloc(nil, nil), "Sequence": sqlsource.Sequence(nil, nil),
		"Ticket": sqlsource.Ticket(nil, nil), "Ticket of nil": sqlsource.Ticket([]*gorm.DB{nil}, nil),
	} {
		if _, err := src.Fetch(t.Context(), "a", 0); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("%s without a database: Fetch = %v, want ErrOptions", name, err)
		}
		if _, err := segment.New(t.Context(), src, nil); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("%s without a database: New = %v, want ErrOptions", name, err)
		}
	}
	missing := sqlsource.LeafAlloc(db, &sqltable.LeafAllocOptions{Table: "nowhere"})
	if _, err := segment.New(t.Context(), missing, nil); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("New without the table = %v, want an error that names it", err)
	}
	src = sqlsource.LeafAlloc(db, nil)
	long := strings.Repeat("x", 129)
	if _, err := src.Fetch(context.Background(), long, 0); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Fetch of a tag of 129 characters = %v, want ErrUnknownTag", err)
	}
	if _, err := src.Fetch(context.Background(), "a", -1); !errors.Is(err, segment.ErrOptions) {
		t.Errorf("Fetch with step -1 = %v, want ErrOptions", err)
	}
}
