package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/workertable"
)

// TestSessions: whatever isolation level and time zone the application's sessions have, many
// processes at once get different worker ids, give them back, and read the times that were written.
func TestSessions(t *testing.T) {
	t.Parallel()
	const processes = 8
	for _, tt := range []struct {
		d      dialect
		params string
	}{
		{dialects[0], "&" + dbtest.Isolation() + "='SERIALIZABLE'"},
		{dialects[0], "&" + dbtest.Isolation() + "='READ-COMMITTED'&time_zone='%2B12:00'"},
		{dialects[1], "&default_transaction_isolation=serializable"},
		{dialects[1], "&default_transaction_isolation=repeatable%20read&timezone=Pacific/Kiritimati"},
	} {
		t.Run(tt.d.name+tt.params, func(t *testing.T) {
			t.Parallel()
			dsn := tt.d.migrated(t) + tt.params
			for round := range 2 {
				var wg sync.WaitGroup
				claims := make([]assigner.Claim, processes)
				for i := range claims {
					a := workernode.Leased(tt.d.connect(t, dsn), nil)
					wg.Go(func() {
						c, err := a.Assign(t.Context(), 1<<22-1)
						if err != nil {
							t.Errorf("round %d: Assign: %v", round, err)
							return
						}
						claims[i] = c
						_, until := c.Window()
						if _, err := c.Extend(t.Context(), until.Add(time.Minute)); err != nil {
							t.Errorf("round %d: Extend: %v", round, err)
						}
					})
				}
				wg.Wait()
				if t.Failed() {
					return
				}
				seen := map[int64]bool{}
				for _, c := range claims {
					if seen[c.Worker()] {
						t.Errorf("round %d: worker %d has two owners", round, c.Worker())
					}
					seen[c.Worker()] = true
				}
				if round > 0 {
					break
				}
				for _, c := range claims { // so that the next round claims these worker ids again
					wg.Go(func() {
						if err := c.Release(t.Context(), time.Time{}); err != nil {
							t.Errorf("Release: %v", err)
						}
					})
				}
				wg.Wait()
			}
			slots, err := tt.d.in(dsn, workertable.DefaultNamespace).open(t, lease.Options{}).Slots(t.Context())
			if err != nil || len(slots) != processes {
				t.Errorf("Slots = %d, %v, want %d", len(slots), err, processes)
			}
			for _, s := range slots {
				if s.Left > 20*time.Minute+2*time.Minute {
					t.Errorf("slot %+v, want it to end in about %v", s, 20*time.Minute)
				}
			}
			if got := tt.d.recent(t, tt.d.connect(t, dsn), "WORKER_LEASE", "CREATED"); got != processes+1 {
				t.Errorf("%d rows were made just now, want the slots and the header", got)
			}
		})
	}
}
