package sqltable_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestSequenceSetAtTheEnd: a used-up counter cannot be lowered, and a change of its step does not make
// it usable. The ids of its next block overflow int64 and must not count as low ones.
func TestSequenceSetAtTheEnd(t *testing.T) {
	t.Parallel()
	const current = math.MaxInt64 - 5
	_, db := sequenceRow(t, current, 1000)
	src := sqlsource.Sequence(db, nil)
	set := src.(segment.Setter).Set
	for _, row := range []segment.Row{
		{Tag: "a", Next: 1}, {Tag: "a", Next: 1000, Step: 10}, {Tag: "a", Next: current},
	} {
		if err := set(t.Context(), row); !errors.Is(err, segment.ErrRangeWentBack) {
			t.Errorf("Set(%+v) of a used-up counter = %v, want ErrRangeWentBack", row, err)
		}
	}
	if got := number(t, db, "SELECT current_val FROM t_sequence"); got != current {
		t.Errorf("current_val is %d, want %d as before", got, int64(current))
	}
	for _, step := range []int64{10, 1} {
		if err := set(t.Context(), segment.Row{Tag: "a", Step: step}); err != nil {
			t.Errorf("Set of step %d = %v", step, err)
		}
		if r, err := src.Fetch(t.Context(), "a", 0); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Fetch after the step was set to %d = %v, %v, want ErrExhausted", step, r, err)
		}
		rows, err := src.(segment.Lister).List(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Next != math.MaxInt64 {
			t.Errorf("List = %v, %v, want the largest int64 as the next id", rows, err)
		}
	}
}

// TestSetUnderLoad: processes create one tag at the same time, and change it while others fetch. All
// succeed, and no id is in two ranges.
func TestSetUnderLoad(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t)
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		for round := range 5 {
			tag := fmt.Sprint("tag", round)
			var (
				fs [8]func()
				mu sync.Mutex
				rs []segment.Range
			)
			for i := range fs {
				src := kinds[kind](open(t, dsn))
				fs[i] = func() {
					for n := range 10 {
						row := segment.Row{Tag: tag, Step: int64(1 + (i+n)%50)}
						if err := src.(segment.Setter).Set(t.Context(), row); err != nil {
							t.Errorf("%s: Set = %v", kind, err)
							return
						}
						r, err := src.Fetch(t.Context(), tag, 0)
						for errors.Is(err, sqldb.ErrChanged) { // the others were first each time
							r, err = src.Fetch(t.Context(), tag, 0)
						}
						if err != nil {
							t.Errorf("%s: Fetch = %v", kind, err)
							return
						}
						mu.Lock()
						rs = append(rs, r)
						mu.Unlock()
					}
				}
			}
			segtest.Together(fs[:]...)
			slices.SortFunc(rs, func(a, b segment.Range) int { return int(a.From - b.From) })
			for i := 1; i < len(rs); i++ {
				if rs[i].From < rs[i-1].To {
					t.Errorf("%s: the ranges %v and %v overlap", kind, rs[i-1], rs[i])
				}
			}
		}
	}
}

// TestSequenceSetRepairs: a row with an invalid increment does not tell where its last block ends, so
// its repair needs a first id, unless blocks end at current_val.
func TestSequenceSetRepairs(t *testing.T) {
	t.Parallel()
	_, db := sequenceRow(t, 500, 0) // the last block may have been [500, 1500)
	src := sqlsource.Sequence(db, nil)
	for want, row := range map[string]segment.Row{
		"Next is 0":              {Tag: "a", Step: 1000},
		"Step is 0":              {Tag: "a", Next: 2000},
		"Next is 499, want at l": {Tag: "a", Next: 499, Step: 1000},
	} {
		if err := src.(segment.Setter).Set(t.Context(), row); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Set(%+v) = %v, want an error with %q", row, err, want)
		}
	}
	if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Next: 2000, Step: 1000}); err != nil {
		t.Fatal(err)
	}
	if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != "[2000, 3000)" {
		t.Errorf("the block after the repair is %v, want [2000, 3000)", r)
	}

	_, db = sequenceRow(t, 500, 0)
	src = sqlsource.Sequence(db, &sqltable.SequenceOptions{FromCurrent: true})
	if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
		t.Fatal(err)
	}
	if r := segtest.Fetch(t, src, "a", 0); segtest.Bounds(r) != "[500, 510)" {
		t.Errorf("the block after the repair is %v, want [500, 510)", r)
	}
}
