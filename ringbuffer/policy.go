package ringbuffer

import (
	"context"
	"errors"
)

// Errors of Put and Take. Both are temporary: ErrFull until the next take, ErrEmpty until the next
// put.
var (
	ErrFull  = errors.New("ringbuffer: full")
	ErrEmpty = errors.New("ringbuffer: empty")
)

// PutPolicy says what Put does when the ring is full. The zero value is PutDiscard.
type PutPolicy uint8

// The put policies.
const (
	PutDiscard PutPolicy = iota // drop the uid and return nil
	PutFail                     // return ErrFull
)

// TakePolicy says what Take does when the ring is empty. The zero value is TakeReject.
type TakePolicy uint8

// The take policies.
const (
	TakeReject TakePolicy = iota // return ErrEmpty
	TakeWait                     // wait for a put or for the end of ctx
)

// Put puts uid into the ring. When the ring is full, Options.PutFunc decides if it is set, else
// PutPolicy: PutDiscard drops the uid and returns nil, PutFail returns ErrFull. Put itself never
// waits for room and does not allocate.
//
// A panic of PutFunc passes through Put and leaves the ring as it was.
func (r *Ring) Put(uid int64) error {
	if r.TryPut(uid) {
		return nil
	}
	switch {
	case r.putFunc != nil:
		return r.putFunc(r, uid)
	case r.putPolicy == PutFail:
		return ErrFull
	default:
		return nil
	}
}

// Take takes the oldest uid. It reads ctx only when the ring is empty: a uid that is there is
// handed out even if ctx has ended. On an empty ring Options.TakeFunc decides if it is set, else
// TakePolicy.
//
// The error is ErrEmpty, ctx.Err(), or what TakeFunc returned, unchanged. Take does not allocate.
func (r *Ring) Take(ctx context.Context) (int64, error) {
	if uid, ok := r.TryTake(); ok {
		return uid, nil
	}
	switch {
	case r.takeFunc != nil:
		return r.takeByFunc(ctx)
	case r.takePolicy == TakeWait:
		return r.takeByWait(ctx)
	default:
		return 0, ErrEmpty
	}
}

// takeByFunc calls the user's function until it fails, a uid is there, or ctx ends.
func (r *Ring) takeByFunc(ctx context.Context) (int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := r.takeFunc(ctx, r); err != nil {
			return 0, err
		}
		if uid, ok := r.TryTake(); ok {
			return uid, nil
		}
	}
}
