package sqlstore_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestTakeBack: worker ids of processes that knew an era are claimed again after it was taken back.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	const one = "40-16-5-0/10ms@2026-01-01T00:00:00Z"
	two := one + ",40-16-5-0/1s@" + time.Now().AddDate(1, 0, 0).UTC().Format("2006-01-02") + "T00:00:00Z"
	a := start(t, tables(t), "orders", nil).(*lease.Assigner)
	claim := func(layout string) assigner.Claim {
		t.Helper()
		c, err := a.BindLayout(layout).Assign(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := claim(two).Release(t.Context(), time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := a.TakeBack(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if c := claim(one); c.Worker() != 0 {
		t.Errorf("worker %d, want 0", c.Worker())
	}
}
