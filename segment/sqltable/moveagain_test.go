package sqltable_test

import (
	"errors"
	"testing"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestMoveAgain: a move of before is run again, or goes on, after the tag has moved on. No id is in two
// ranges, whether it is refused or not.
func TestMoveAgain(t *testing.T) {
	t.Parallel()
	type move struct {
		from, to int
		after    func(step string) error
	}
	none := killAfter("")
	var sources []segment.Source
	places := []string{"A", "B", "C"}
	run := func(t *testing.T, m move) error {
		_, err := sqltable.MoveWith(t.Context(), "a", sources[m.from], sources[m.to], places[m.to], m.after)
		return err
	}
	for range places {
		_, db := database(t)
		sources = append(sources, sqlsource.LeafAlloc(db, nil))
	}
	seen := map[int64]bool{}
	fetch := func(t *testing.T) {
		for i, s := range sources {
			r, err := s.Fetch(t.Context(), "a", 50)
			if errors.Is(err, segment.ErrExhausted) || errors.Is(err, segment.ErrUnknownTag) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for id := r.From; id < r.To; id++ {
				if seen[id] {
					t.Fatalf("%s gives id %d again", places[i], id)
				}
				seen[id] = true
			}
		}
	}
	if err := sources[0].(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
		t.Fatal(err)
	}
	for i, m := range []move{
		// Back, and its opposite before it is done.
		{0, 1, none}, {1, 0, killAfter("sealed")}, {0, 1, none}, {1, 0, none},
		// On, and the first again.
		{0, 1, none}, {1, 2, none}, {0, 1, none}, {2, 0, none}, {1, 2, none},
		// A call stands still meanwhile.
		{0, 1, none}, {1, 0, func(step string) error {
			if step != "forgotten" {
				return nil
			}
			for _, m := range []move{{1, 0, none}, {0, 1, none}, {1, 0, killAfter("forgotten")}} {
				t.Log(run(t, m))
				fetch(t)
			}
			return nil
		}}, {1, 0, none},
	} {
		t.Log(i, run(t, m))
		fetch(t)
	}
}
