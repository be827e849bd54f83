package lincheck

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// queueOp is what a call of a Ring is given.
type queueOp struct {
	take  bool
	batch bool
	uids  []int64 // put
	want  int     // take: how many at most
}

// queueResult is what it returns: the uids that went in or out.
type queueResult []int64

// queue is the sequential model of a Ring: the uids in it, oldest first, 8 bytes each. A string is
// compared by ==, as porcupine does to find states that it has been in.
type queue string

func (q queue) len() int { return len(q) / 8 }

func (q queue) push(uids []int64) queue {
	b := []byte(q)
	for _, uid := range uids {
		b = binary.LittleEndian.AppendUint64(b, uint64(uid))
	}
	return queue(b)
}

func (q queue) list() (uids []int64) {
	for b := []byte(q); len(b) > 0; b = b[8:] {
		uids = append(uids, int64(binary.LittleEndian.Uint64(b)))
	}
	return uids
}

// step reports whether a ring of the given size that holds q can answer op with res, and what it
// holds then.
//
// A single call is answered exactly. A batch may move fewer uids than would be possible, as the
// documentation says, but none only if it must: then the ring is full, or empty.
func (q queue) step(size int, op queueOp, res queueResult) (bool, queue) {
	n := len(res)
	if op.take {
		if n == 0 {
			return q.len() == 0, q
		}
		if n > op.want || n > q.len() || q[:8*n] != (queue("")).push(res) {
			return false, q
		}
		return true, q[8*n:]
	}
	if n == 0 {
		return q.len() == size, q
	}
	if n > size-q.len() || n > len(op.uids) || !slices.Equal(op.uids[:n], res) {
		return false, q
	}
	return true, q.push(res)
}

// ringModel is the specification of an empty Ring of the given size.
func ringModel(size int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return queue("") },
		Step: func(state, input, output any) (bool, any) {
			return state.(queue).step(size, input.(queueOp), output.(queueResult))
		},
		DescribeOperation: func(input, output any) string {
			op, res := input.(queueOp), output.(queueResult)
			switch {
			case op.take && op.batch:
				return fmt.Sprintf("TryTakeN(%d) = %v", op.want, res)
			case op.take:
				return fmt.Sprintf("TryTake() = %v", res)
			case op.batch:
				return fmt.Sprintf("TryPutN(%v) = %d", op.uids, len(res))
			default:
				return fmt.Sprintf("TryPut(%d) = %t", op.uids[0], len(res) == 1)
			}
		},
		DescribeState: func(state any) string {
			return strings.Trim(fmt.Sprint(state.(queue).list()), "[]")
		},
	}
}
