package sqltable_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

var errKilled = errors.New("killed")

// killAfter ends a move after a step. An empty step ends none.
func killAfter(step string) func(string) error {
	return func(done string) error {
		if done == step {
			return errKilled
		}
		return nil
	}
}

// TestMove: a tag moves between two databases and back, killed after each of its steps and run again,
// while programs fetch from whichever database has it. No id is in two ranges.
func TestMove(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		source := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			_, one := database(t)
			_, two := database(t)
			places, names := []segment.Source{source(one), source(two)}, []string{"one", "two"}
			if err := places[0].(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
				t.Fatal(err)
			}
			var (
				mu      sync.Mutex
				ids     []int64
				fetched atomic.Int64
				stop    = make(chan struct{})
				wg      sync.WaitGroup
			)
			defer wg.Wait()
			end := sync.OnceFunc(func() { close(stop) })
			defer end()
			for worker := range 4 {
				wg.Go(func() {
					for at := worker % 2; ; {
						select {
						case <-stop:
							return
						default:
						}
						r, err := places[at].Fetch(t.Context(), "a", 3)
						switch {
						case errors.Is(err, segment.ErrExhausted), errors.Is(err, segment.ErrUnknownTag):
							at = 1 - at
							continue
						case err != nil:
							t.Errorf("Fetch from %s: %v", names[at], err)
							return
						}
						fetched.Add(1)
						mu.Lock()
						for id := r.From; id < r.To; id++ {
							ids = append(ids, id)
						}
						mu.Unlock()
					}
				})
			}
			at := 0
			for _, step := range []string{
				"", "noted", "sealed", "forgotten", "received", "noted", "sealed", "forgotten", "received",
			} {
				from, to, place := places[at], places[1-at], names[1-at]
				_, err := sqltable.MoveWith(t.Context(), "a", from, to, place, killAfter(step))
				if killed := errors.Is(err, errKilled); err != nil && !killed {
					t.Fatalf("Move killed after %q: %v", step, err)
				}
				before := fetched.Load()
				row, err := sqltable.Move(t.Context(), "a", from, to, place)
				if err != nil || row.Next < 1 || row.Next == math.MaxInt64 || row.Step != 10 {
					t.Fatalf("Move after it was killed after %q = %+v, %v", step, row, err)
				}
				for fetched.Load() < before+20 && !t.Failed() { // from the new place
					r, err := to.Fetch(t.Context(), "a", 3)
					if err != nil {
						t.Fatalf("Fetch from %s: %v", place, err)
					}
					mu.Lock()
					for id := r.From; id < r.To; id++ {
						ids = append(ids, id)
					}
					mu.Unlock()
				}
				if _, err := from.Fetch(t.Context(), "a", 3); !errors.Is(err, segment.ErrExhausted) {
					t.Errorf("Fetch from the old place = %v, want ErrExhausted", err)
				}
				at = 1 - at
			}
			end()
			wg.Wait()
			seen, highest := map[int64]bool{}, int64(0)
			for _, id := range ids {
				if seen[id] {
					t.Errorf("id %d is in two ranges", id)
				}
				seen[id], highest = true, max(highest, id)
			}
			t.Logf("%d ids up to %d", len(ids), highest)
		})
	}
}

// TestMoveRefused: a tag does not move to two places, nor over one that exists, nor within one database,
// and counters of periods and of ticket servers do not move.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	dsn, one := counters(t)
	_, two := database(t)
	_, three := counters(t)
	a, b, c := sqlsource.LeafAlloc(one, nil), sqlsource.LeafAlloc(two, nil), sqlsource.LeafAlloc(three, nil)
	refused := func(want string, is error, tag string, from, to segment.Source, place string) {
		t.Helper()
		_, err := sqltable.Move(t.Context(), tag, from, to, place)
		if !errors.Is(err, is) || !strings.Contains(err.Error(), want) {
			t.Errorf("Move of %q to %s = %v, want %v with %q", tag, place, err, is, want)
		}
	}
	refused("three has the tag", segment.ErrOptions, "a", a, c, "three")
	refused("", segment.ErrUnknownTag, "b", a, b, "two")
	refused("from a *sqltable.ticket", segment.ErrOptions, "a", sqlsource.Ticket([]*gorm.DB{one}, nil), b, "two")
	refused("Cycle is true", segment.ErrOptions, "a",
		sqlsource.Sequence(one, &sqltable.SequenceOptions{Cycle: true}), b, "two")
	refused("place has 0 characters", segment.ErrOptions, "a", a, b, "")
	refused("without a schema", segment.ErrOptions, "a",
		sqlsource.LeafAlloc(one, &sqltable.LeafAllocOptions{Table: "app.leaf_alloc"}), b, "two")
	if err := a.(segment.Periods).Begin(t.Context(), segment.Period{Name: "order", Format: "f", Number: 20261123,
		Tag: "order@20261123", Step: 1, MaxStep: 1}); err != nil {
		t.Fatal(err)
	}
	refused("counts a period", segment.ErrOptions, "order@20261123", a, b, "two")
	// Killed on its way to one place, it does not go to another.
	if _, err := sqltable.MoveWith(t.Context(), "a", a, b, "two", killAfter("noted")); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	run(t, three, "DELETE FROM leaf_alloc")
	refused(`goes to "two", not to "three"`, segment.ErrOptions, "a", a, c, "three")
	if r, err := a.Fetch(t.Context(), "a", 5); err != nil || r.From != 1 {
		t.Errorf("before the counter is sealed Fetch = %v, %v, want [1, 6)", r, err)
	}
	if _, err := sqltable.MoveWith(t.Context(), "a", a, b, "two", killAfter("sealed")); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	refused(`goes to "two", not to "three"`, segment.ErrOptions, "a", a, c, "three")
	for range 2 { // the second time it is there
		row, err := sqltable.Move(t.Context(), "a", a, b, "two")
		if err != nil || row.Next != 6 || row.Step != 10 {
			t.Errorf("Move = %+v, %v, want 6 by 10", row, err)
		}
	}
	// A counter that is at its end, and has not moved.
	run(t, one, fmt.Sprintf("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('full', %d, 10)",
		int64(math.MaxInt64)))
	refused("at its end, and not because", segment.ErrExhausted, "full", a, b, "two")
	// One database under two names.
	run(t, one, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('same', 1, 10)")
	run(t, two, "DELETE FROM leaf_alloc")
	same := sqlsource.LeafAlloc(open(t, dsn), nil)
	refused("has the tag", segment.ErrOptions, "same", a, same, "two")
	if r, err := a.Fetch(t.Context(), "same", 5); err != nil || r.From != 1 {
		t.Errorf("after a move within a database Fetch = %v, %v, want [1, 6)", r, err)
	}
}
