package ringbuffer

import "context"

// Waiting is a token in a channel of capacity one. A put that sees a waiter leaves a token. A
// waiter that gets the token tries to take. A waiter that leaves passes the token on while uids are
// in the ring. One put of many uids thus wakes as many waiters as there are uids, one after the
// other, and no put ever blocks or allocates.
//
// No wake-up is lost. A waiter counts itself and then looks at the ring; a put fills the ring and
// then looks at the count. Whichever comes second sees the other. A token that is already there
// stands for any number of puts, because the waiter that gets it looks at the ring afterwards.

// takeByWait waits until it gets a uid or ctx ends. There is no order among waiters and other
// takers.
func (r *Ring) takeByWait(ctx context.Context) (int64, error) {
	r.waiters.Add(1)
	defer r.leave()
	for {
		if uid, ok := r.TryTake(); ok {
			return uid, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// leave ends a wait, for whatever reason, and passes the token on if others wait and uids are left.
func (r *Ring) leave() {
	if r.waiters.Add(-1) != 0 && r.length() != 0 {
		r.signal()
	}
}

// signal leaves a token unless there is one.
func (r *Ring) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
