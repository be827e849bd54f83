package sqlsource_test

import (
	"testing"
)

// TestSpoiledSessions: whatever an application leaves on a pooled connection, the ranges of five
// processes are disjoint. A source whose statements relied on the session gave 1,960 of these 2,500
// ids a second time.
func TestSpoiledSessions(t *testing.T) {
	t.Parallel()
	dsn, _ := counters(t)
	for kind, source := range kinds {
		for _, spoil := range []string{"BEGIN", "SET autocommit = 0"} {
			var ids []int64
			for range 5 {
				db := open(t, dsn)
				pool, err := db.DB()
				if err != nil {
					t.Fatal(err)
				}
				pool.SetMaxOpenConns(1) // so that the fetches meet the connection
				src := source(db)
				for range 50 {
					r := fetch(t, src, "a", 10)
					for id := r.From; id < r.To; id += max(r.Stride, 1) {
						ids = append(ids, id)
					}
					run(t, db, spoil)
				}
				closePool(t, db) // and the server rolls back what is not committed
			}
			if len(ids) != 2500 {
				t.Errorf("%s, %s: %d ids, want 2500", kind, spoil, len(ids))
			}
			distinct(t, ids)
		}
	}
}
