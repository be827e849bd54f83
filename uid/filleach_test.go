package uid_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// TestFillEach gives rows ids in their order, all or none.
func TestFillEach(t *testing.T) {
	t.Parallel()
	type row struct {
		id uid.ID
	}
	key := func(r *row) *uid.ID { return &r.id }
	gen, err := uid.NewCached(t.Context(), assigner.Static(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]row, 1000)
	if err := uid.FillEach(t.Context(), gen, rows, key); err != nil {
		t.Fatal(err)
	}
	last := uid.ID(-1)
	for i, r := range rows {
		if r.id <= last {
			t.Fatalf("row %d has %d after %d, want it higher", i, int64(r.id), int64(last))
		}
		last = r.id
	}
	if err := gen.Close(); err != nil {
		t.Fatal(err)
	}
	fresh := make([]row, 3)
	err = uid.FillEach(context.Background(), gen, fresh, key)
	if !errors.Is(err, uid.ErrClosed) || fresh[0].id != 0 {
		t.Errorf("a closed generator gives %v and the id %d, want ErrClosed and none", err,
			int64(fresh[0].id))
	}
	if err := uid.FillEach(context.Background(), nil, fresh[:0], key); err != nil {
		t.Errorf("no rows: %v, want nothing, and no call of the generator", err)
	}
}
