package lincheck

import (
	"fmt"

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
	phase sourceOp
}

// step reports whether s can answer op with ids, and what it is afterwards.
func (s source) step(op sourceOp, ids stretch) (bool, source) {
	switch op {
	case take:
		return ids.first > s.last && ids.last >= ids.first && s.phase != closed, source{ids.last, s.phase}
	case refused:
		return s.phase != take, s
	case closing:
		return s.phase == take, source{s.last, closing}
	default:
		return s.phase == closing, source{s.last, closed}
	}
}

// sourceModel is the specification of a generator with one lane that has handed out ids up to last.
func sourceModel(last int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return source{last: last} },
		Step: func(state, input, output any) (bool, any) {
			return state.(source).step(input.(sourceOp), output.(stretch))
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
