package segment_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// servers is a Source of two counters that take turns, as those of ticket servers do.
type servers struct {
	mu   sync.Mutex
	turn int
	next [2]int64
}

func (s *servers) Fetch(context.Context, string, int64) (segment.Range, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.turn % 2
	s.turn++
	from := s.next[i]
	s.next[i] += 10
	return segment.Range{From: from, To: from + 10, Origin: i}, nil
}

// TestOneServerWentBack: while the counter of one server lies below ids in use, every call gets an
// id of the other server, and the tag is degraded. It is well once that counter was raised.
func TestOneServerWentBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const second = 1 << 40 // far above the first server's ids
		s := &servers{next: [2]int64{0, second}}
		g := segtest.New(t, s, nil)
		ids := segtest.Next(t, g, "a", 100)
		synctest.Wait()
		set := func(first int64) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.next[0] = first
		}
		set(0)
		for range 100 {
			more := segtest.Next(t, g, "a", 5)
			ids = append(ids, more...)
			synctest.Wait()
		}
		tag := stats(t, g, "a")
		if !errors.Is(tag.Err, segment.ErrRangeWentBack) || tag.Failures == 0 {
			t.Errorf("a server went back, and the tag has the error %v and %d failures",
				tag.Err, tag.Failures)
		}
		low := 0
		for _, id := range ids[len(ids)-400:] {
			if id < second {
				low++
			}
		}
		if low > 0 {
			t.Errorf("%d ids of a server that went back", low)
		}
		set(1 << 30)
		ids = append(ids, segtest.Next(t, g, "a", 100)...)
		time.Sleep(time.Second)
		if tag := stats(t, g, "a"); tag.Err != nil {
			t.Errorf("the counter was raised, and the tag has the error %v", tag.Err)
		}
		segtest.Distinct(t, ids)
	})
}
