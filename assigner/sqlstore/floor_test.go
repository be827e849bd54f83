package sqlstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/sqlstore"
	"github.com/uidring/uidring/internal/workertable"
)

// TestHeaderAnew: all rows of a namespace are deleted under two owners. The header that one of them
// makes anew keeps a floor, over a change of its layouts as well, so no process that starts then has
// a window inside of the other's.
func TestHeaderAnew(t *testing.T) {
	t.Parallel()
	const one = "40-16-5-0/10ms@2026-01-01T00:00:00Z"
	two := one + ",40-16-5-0/1s@" + time.Now().AddDate(3, 0, 0).UTC().Format("2006-01-02") + "T00:00:00Z"
	const reach = 48 * time.Hour
	for _, namespace := range []string{workertable.DefaultNamespace, "orders"} {
		t.Run(namespace, func(t *testing.T) {
			t.Parallel()
			dsn := tables(t)
			o := &lease.Options{Reach: reach}
			process := func() *lease.Assigner { return start(t, dsn, namespace, o).(*lease.Assigner) }
			witness := process()
			for _, a := range []*lease.Assigner{witness, process()} {
				if _, err := a.BindLayout(one).Assign(t.Context(), 100); err != nil {
					t.Fatal(err)
				}
			}
			pool := open(t, dsn)
			for _, table := range []string{workertable.LeaseTable, workertable.NodeTable} {
				if _, err := pool.ExecContext(t.Context(), "TRUNCATE TABLE "+table); err != nil {
					t.Fatal(err)
				}
			}
			before := time.Now()
			for range 2 { // the first may find its own row gone, which is an error
				c, err := witness.BindLayout(one).Assign(t.Context(), 100)
				if err == nil {
					if from, _ := c.Window(); from.Before(before.Add(reach - time.Minute)) {
						t.Errorf("the witness begins at %v, want %v from now", from, reach)
					}
				} else {
					t.Log(err)
				}
			}
			for _, layout := range []string{one, two, two} {
				c, err := process().BindLayout(layout).Assign(t.Context(), 100)
				if err != nil {
					t.Fatal(err)
				}
				if from, _ := c.Window(); from.Before(before.Add(reach - time.Minute)) {
					t.Errorf("worker %d begins at %v, want it at the floor, %v from now", c.Worker(), from, reach)
				}
			}
			s, err := sqlstore.New(pool, "mysql", &sqlstore.Options{Namespace: namespace})
			if err != nil {
				t.Fatal(err)
			}
			if h, err := s.Get(t.Context(), "header"); err != nil || strings.Contains(string(h.Value), "move") {
				t.Errorf("header = %s, %v, want none of a move", h.Value, err)
			}
		})
	}
}
