package uid_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/uidring/uidring/uid"
)

// sequence is the order in which the calls of a life return ids, and what has to hold of it. It is
// guarded by world.mu.
//
// With one lane each id is above those of all calls that had returned before its call began. With
// several that holds of the ids of each run, because a run is in one lane. And a lane that has
// taken a run has no lower one any more, nor has the ring: so after an id of a run has been
// returned, calls that begin get ids of as many lower runs as there are other lanes, at the most.
type sequence struct {
	lanes int
	shift int                  // from an id to its run
	calls int                  // that have returned
	high  int64                // the highest id
	runs  map[int64][]returned // by the run
	late  map[int64]int64      // by the run: the highest one of those that calls which got ids of it came after
}

// returned is the highest id that calls have returned, and how many calls these are.
type returned struct {
	calls int
	high  int64
}

// newSequence returns the sequence of a generator with o's options, of ids that rise as order says.
func newSequence(kind string, o *uid.Both) sequence {
	s := sequence{lanes: o.Lanes, shift: o.Layout.GeneBits, high: -1, runs: map[int64][]returned{},
		late: map[int64]int64{}}
	if kind != "cached" {
		s.lanes = 1
	}
	for n := o.RunLength; n > 1; n /= 2 {
		s.shift++
	}
	return s
}

// begin is for a call that begins.
func (s *sequence) begin() returned { return returned{s.calls, s.high} }

// add notes what a call that began then has returned, and says what is wrong with it.
func (s *sequence) add(then returned, ids []int64) (problem string) {
	s.calls++
	for i, id := range ids {
		if i > 0 && id <= ids[i-1] {
			problem = fmt.Sprintf("%d comes after %d in one call", id, ids[i-1])
		}
		if s.lanes == 1 {
			if id <= then.high {
				problem = fmt.Sprintf("%d came after %d", id, then.high)
			}
			continue
		}
		run := id >> s.shift
		before := s.runs[run]
		for _, b := range slices.Backward(before) {
			if b.calls <= then.calls {
				if id <= b.high {
					problem = fmt.Sprintf("%d came after %d, which is of its run", id, b.high)
				}
				break
			}
		}
		if last := len(before) - 1; last < 0 || before[last].high < id {
			s.runs[run] = append(before, returned{s.calls, id})
		}
		if newest := then.high >> s.shift; then.high >= 0 && run < newest {
			s.late[run] = max(s.late[run], newest)
		}
	}
	if len(ids) > 0 {
		s.high = max(s.high, ids[len(ids)-1])
	}
	return problem
}

// end says what is wrong with the runs that came late.
func (s *sequence) end() (problem string) {
	type edge struct {
		run int64
		by  int
	}
	var edges []edge
	for run, newest := range s.late { // it is late for each run above it, up to newest
		edges = append(edges, edge{run + 1, 1}, edge{newest + 1, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.run, b.run), a.by-b.by) })
	late := 0
	for _, e := range edges {
		if late += e.by; late >= s.lanes {
			problem = fmt.Sprintf("after an id of run %d come ids of %d runs below it, there are %d lanes", e.run,
				late, s.lanes)
		}
	}
	return problem
}
