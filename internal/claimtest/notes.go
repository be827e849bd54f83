package claimtest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// Notes tests what an empty store does with the notes of worker ids: Notes finds them, List leaves
// them out, and nobody makes one twice.
func Notes(ctx context.Context, t *testing.T, s lease.Store) {
	t.Helper()
	ctx, end := context.WithCancel(ctx)
	defer end()
	n, ok := s.(storekind.Noter)
	if !ok {
		t.Fatalf("%v is no Noter", s)
	}
	if ids, err := n.Notes(ctx); err != nil || len(ids) != 0 {
		t.Errorf("Notes of nothing = %v, %v, want none", ids, err)
	}
	for _, name := range []string{"header", "slot-3", "used-7", "used-12", "used-x", "used-07"} {
		if _, err := s.Put(ctx, lease.Entry{Name: name}, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := n.Notes(ctx)
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []int64{7, 12}) {
		t.Errorf("Notes = %v, %v, want 7 and 12", ids, err)
	}
	all, err := s.List(ctx)
	if err != nil || len(all) != 2 {
		t.Errorf("List = %v, %v, want the header and one slot", all, err)
	}
	if e, err := s.Get(ctx, "used-7"); err != nil || string(e.Value) != "{}" {
		t.Errorf("Get of a note = %+v, %v, want it", e, err)
	}
	if _, err := s.Put(ctx, lease.Entry{Name: "used-7"}, nil); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("Put of a note that is there = %v, want ErrConflict", err)
	}
	end()
	if ids, err := n.Notes(ctx); err == nil {
		t.Errorf("Notes without an answer = %v, want an error", ids)
	}
}
