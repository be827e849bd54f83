package segment_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// tickets are the counters of two ticket servers.
type tickets struct {
	mu   sync.Mutex
	next [2]int64
}

// ticketed is the Source of one process: it takes the servers in turn.
type ticketed struct {
	*tickets
	turn int
}

func (s *ticketed) Fetch(context.Context, string, int64) (segment.Range, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.turn % 2
	s.turn++
	from := s.next[i]
	s.next[i] += 200
	return segment.Range{From: from, To: from + 199, Stride: 2, Origin: i}, nil
}

// TestOneServerWentBack: a busy process must not lift the counter of a server that went back, past
// what a quiet process has seen of it: that process would take it for repaired. So a tag whose
// server is refused stops until the next refresh, although the other server is well.
func TestOneServerWentBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &tickets{next: [2]int64{2, 1}}
		quiet := segtest.New(t, &ticketed{tickets: db}, nil)
		busy := segtest.New(t, &ticketed{tickets: db}, nil)
		ids := slices.Concat(segtest.Next(t, quiet, "a", 1000), segtest.Next(t, busy, "a", 2_000_000))
		synctest.Wait()
		db.mu.Lock()
		db.next[0] = 2 // as at the start
		db.mu.Unlock()
		failed := 0
		take := func(g *segment.Generator, n int) {
			for range n {
				id, err := g.Next(t.Context(), "a")
				if err == nil {
					ids = append(ids, id)
				} else if failed++; !errors.Is(err, segment.ErrRangeWentBack) {
					t.Fatal(err)
				}
			}
		}
		for range 90 {
			take(busy, 10_000)
			take(quiet, 100)
			time.Sleep(time.Second)
		}
		n := len(ids)
		slices.Sort(ids)
		if ids = slices.Compact(ids); len(ids) != n || failed == 0 {
			t.Errorf("%d of %d ids are different, and %d calls failed, want all different and some to fail",
				len(ids), n, failed)
		}
	})
}
