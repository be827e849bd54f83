package ringbuffer

import (
	"context"
	"errors"
)

// Errors of Put and Take. Both pass: ErrFull with the next take, ErrEmpty with the next put.
var (
	ErrFull  = errors.New("ringbuffer: full")
	ErrEmpty = errors.New("ringbuffer: empty")
)

// PutPolicy says what Put does when the ring is full. The zero value is Discard.
type PutPolicy uint8

// The put policies.
const (
	Discard PutPolicy = iota // drop the uid and return nil
	Fail                     // return ErrFull
)

// TakePolicy says what Take does when the ring is empty. The zero value is Pad.
type TakePolicy uint8

// The take policies.
const (
	Pad    TakePolicy = iota // call Options.Pad, then try again
	Wait                     // wait for a put or for the ctx
	Reject                   // return ErrEmpty
)

// Put puts uid into the ring. When the ring is full, Options.PutFunc decides if there is one, else the PutPolicy: Discard
// drops the uid and returns nil, Fail returns ErrFull. Put itself never waits for room and does not allocate.
//
// PutFunc runs without any lock held, so it may call any method of the ring. Its result is Put's result, and a panic
// passes through Put and leaves the ring as it was.
func (r *Ring) Put(uid int64) error {
	if r.TryPut(uid) {
		return nil
	}
	switch {
	case r.putFunc != nil:
		return r.putFunc(r, uid)
	case r.putPolicy == Fail:
		return ErrFull
	default:
		return nil
	}
}

// Take takes the oldest uid. It reads ctx only when the ring is empty: a uid that is there is handed out even when ctx has
// ended. On an empty ring Options.TakeFunc decides if there is one, else the TakePolicy.
//
// The error is ErrEmpty (Reject, and Pad that has nothing to offer), ctx.Err(), or what Pad or TakeFunc returned, as it is.
// Take does not allocate.
func (r *Ring) Take(ctx context.Context) (int64, error) {
	if uid, ok := r.TryTake(); ok {
		return uid, nil
	}
	switch {
	case r.takeFunc != nil:
		return r.takeByFunc(ctx)
	case r.takePolicy == Wait:
		return r.takeByWait(ctx)
	case r.takePolicy == Pad && r.pad != nil:
		return r.takeByPad(ctx)
	default:
		return 0, ErrEmpty
	}
}

// takeByFunc lets the user's function deal with the empty ring: nil from it means "try again".
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

// takeByPad lets the caller fill the ring. Each further round needs a tail that has moved since the round began: other
// takers were faster then, and somebody made progress. A tail that stood still means that Pad has nothing to put, and
// asking it again at once would only burn the processor.
func (r *Ring) takeByPad(ctx context.Context) (int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		before := r.tail.Load()
		if err := r.pad(ctx, r); err != nil {
			return 0, err
		}
		if uid, ok := r.TryTake(); ok {
			return uid, nil
		}
		if r.tail.Load() == before {
			return 0, ErrEmpty
		}
	}
}
