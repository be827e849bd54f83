package lease

import (
	"math/rand/v2"
	"testing"
)

// TestUsed compares used with a set.
func TestUsed(t *testing.T) {
	t.Parallel()
	const limit = 40
	for range 200 {
		var u used
		var set [limit]bool
		for range 30 {
			first := rand.Int64N(limit)
			end := first + 1 + rand.Int64N(min(3, limit-first))
			u = u.with(first, end)
			for n := first; n < end; n++ {
				set[n] = true
			}
			if !u.valid() {
				t.Fatalf("%v is out of order", u)
			}
			from := rand.Int64N(limit)
			want := from
			for want < limit && set[want] {
				want++
			}
			if n, ok := u.lowest(from, limit-1); n != want || ok != (want < limit) {
				t.Fatalf("%v.lowest(%d) = %d, %v, want %d", u, from, n, ok, want)
			}
		}
	}
}
