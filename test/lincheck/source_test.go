package lincheck

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// sourceOp is one step of a generator with one lane, as a call has made it. A call of Next is one
// step. A call of Fill is one for each stretch of consecutive ids: no other call can have an id from
// the middle of one, so the caller that took it might as well have taken it at once. Close is two:
// what is refused after the first of them may be, what is asked for after the second must be.
type sourceOp int

const (
	take    sourceOp = iota // got a stretch of ids
	refused                 // got ErrClosed
	closing                 // Close has begun
	closed                  // Close is done
)

// stretch is the ids first..last that a take returned.
type stretch struct{ first, last int64 }

// source is the sequential model: an id above all that were taken before, until it is closed.
type source struct {
	last  int64 // the highest id taken
	taken int   // how many takes there were
	phase sourceOp
}

// step reports whether s can answer op with ids, and what it is afterwards.
func (s source) step(op sourceOp, ids stretch) (ok bool, after source) {
	after = s
	switch op {
	case take:
		ok = ids.first > s.last && ids.last >= ids.first && s.phase != closed
		after.last, after.taken = ids.last, s.taken+1
	case refused:
		ok = s.phase != take
	case closing:
		ok, after.phase = s.phase == take, closing
	default:
		ok, after.phase = s.phase == closing, closed
	}
	return ok, after
}

// sourceModel is the specification of a generator with one lane that has handed out ids up to last,
// for one history.
//
// Ids rise, and a history is linearizable only if all of its calls find a place. So the takes have
// one order, that of their ids, and the model accepts a take only when all lower ones were taken.
// That refuses nothing else, and leaves porcupine one take to try at each step. Without it the
// search has 2^n prefixes where n stretches of several callers overlap, and ends undecided.
func sourceModel(history []porcupine.Operation, last int64) porcupine.Model {
	var order []int64
	for _, op := range history {
		if op.Input == take {
			order = append(order, op.Output.(stretch).first)
		}
	}
	slices.Sort(order)
	return porcupine.Model{
		Init: func() any { return source{last: last} },
		Step: func(state, input, output any) (bool, any) {
			s, op, ids := state.(source), input.(sourceOp), output.(stretch)
			if op == take && ids.first != order[s.taken] {
				return false, s
			}
			return s.step(op, ids)
		},
		DescribeOperation: func(input, output any) string {
			switch op, ids := input.(sourceOp), output.(stretch); op {
			case take:
				return fmt.Sprintf("take %d..%d", ids.first, ids.last)
			case refused:
				return "refused"
			default:
				return [...]string{closing: "closing", closed: "closed"}[op]
			}
		},
	}
}
