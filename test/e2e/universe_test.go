package e2e

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestUniverseEarlier: in the header of an earlier version GENERATION counts changes, which is no name, and
// such a process counts up what is a name. Claims agree on one by their next extension.
func TestUniverseEarlier(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		dsn := d.migrated(t)
		db := d.connect(t, dsn)
		assign := func() assigner.Claim {
			c, err := d.in(dsn, "orders").open(t, lease.Options{}).Assign(t.Context(), 7)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		claims := []assigner.Claim{assign()}
		seen := map[string]bool{"": true, "3": true, "4": true}
		for _, generation := range []string{"3", "GENERATION + 1"} {
			seen[claims[0].(assigner.Named).Universe()] = true
			execAll(t, db, "UPDATE WORKER_LEASE SET GENERATION = "+generation+", NONCE = NONCE + 1 "+
				"WHERE NAMESPACE = 'orders' AND WORKER_ID = -1")
			claims = append(claims, assign())
			want := claims[len(claims)-1].(assigner.Named).Universe()
			if seen[want] {
				t.Errorf("after GENERATION = %s the universe is called %q", generation, want)
			}
			for _, c := range claims {
				_, until := c.Window()
				if _, err := c.Extend(t.Context(), until.Add(time.Minute)); err != nil {
					t.Error(err)
				}
				if got := c.(assigner.Named).Universe(); got != want {
					t.Errorf("after GENERATION = %s a claim calls the universe %q, want %q", generation, got, want)
				}
			}
		}
	})
}
