package sqltable_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// TestTriggers: a trigger on the table, such as one that keeps a log, hides the value of LAST_INSERT_ID,
// so the statement answers 0. One range is a gap, and the following fetches return the next ranges.
func TestTriggers(t *testing.T) {
	t.Parallel()
	for _, statements := range [][]string{
		{"CREATE TRIGGER t BEFORE UPDATE ON %s FOR EACH ROW DO SLEEP(0)"},
		{"CREATE TRIGGER t AFTER UPDATE ON %s FOR EACH ROW DO LAST_INSERT_ID(5)"},
		{
			"CREATE TABLE log (id BIGINT AUTO_INCREMENT PRIMARY KEY, at TIMESTAMP) AUTO_INCREMENT = 77",
			"CREATE TRIGGER t AFTER UPDATE ON %s FOR EACH ROW INSERT INTO log (at) VALUES (NOW())",
		},
	} {
		_, db := database(t)
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
		run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
		for table, source := range map[string]func() segment.Source{
			"leaf_alloc": func() segment.Source { return sqlsource.LeafAlloc(db, nil) },
			"t_sequence": func() segment.Source { return sqlsource.Sequence(db, nil) },
		} {
			src := source()
			begin := segtest.Fetch(t, src, "a", 10).To // before there is a trigger
			run(t, db, "DROP TRIGGER IF EXISTS t")
			run(t, db, "DROP TABLE IF EXISTS log")
			for _, s := range statements {
				run(t, db, strings.ReplaceAll(s, "%s", table))
			}
			for i := range int64(3) {
				if r := segtest.Fetch(t, src, "a", 10); r.From != begin+10*(i+1) || r.Len() != 10 {
					t.Errorf("%s with %q: range %d is %v, want 10 ids from %d on",
						table, statements, i, r, begin+10*(i+1))
				}
			}
		}
	}
}

// TestSequenceFromBelow: a counter that is advanced to 0 is not mistaken for one whose value is hidden.
func TestSequenceFromBelow(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "INSERT INTO t_sequence VALUES ('a', -10, 10)")
	src := sqlsource.Sequence(db, nil)
	for i, want := range []string{"[0, 10)", "[10, 20)"} {
		if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != want {
			t.Errorf("block %d is %v, want %s", i, r, want)
		}
	}
}
