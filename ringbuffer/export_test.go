package ringbuffer

import "unsafe"

// Start empties the ring at the position last: the next uid put has the position last+1. Nobody may
// use the ring meanwhile.
func (r *Ring) Start(last int64) { r.start(last) }

// Look is a take in slow motion: TryTake and TryTakeN are made of these steps, in this order.
type Look struct {
	r      *Ring
	cursor int64
}

// Look begins a take.
func (r *Ring) Look() Look { return Look{r, r.cursor.Load()} }

// LookAt begins a take that has found the cursor at c.
func (r *Ring) LookAt(c int64) Look { return Look{r, c} }

// Peek looks at the oldest uid, as TryTake does.
func (l Look) Peek() (uid, ahead int64) { return l.r.peek(l.cursor) }

// Full looks how many uids there are, as TryTakeN and DropBelow do.
func (l Look) Full(want int64) int64 { return l.r.full(l.cursor, want) }

// Claim claims n uids, and reports whether it could.
func (l Look) Claim(n int64) bool { return l.r.claim(l.cursor, n) }

// Drop is one round of DropBelow.
func (l Look) Drop(limit int64) (n int, again bool) { return l.r.drop(l.cursor, limit) }

// Len is what Len returns if it has loaded the cursor already.
func (l Look) Len() int { return int(l.r.lengthFrom(l.cursor)) }

// Waiters returns how many calls of Take wait for a put.
func (r *Ring) Waiters() int64 { return r.waiters.Load() }

// Hot returns the offsets in a Ring of the words that different parties write, and of the first
// word that all read, in the order of the fields.
func Hot() []uintptr {
	var r Ring
	return []uintptr{unsafe.Offsetof(r.uids), unsafe.Offsetof(r.waiters), unsafe.Offsetof(r.cursor),
		unsafe.Offsetof(r.putMu), unsafe.Sizeof(r)}
}

// FlagSize is the distance of two flags.
const FlagSize = unsafe.Sizeof(flag{})

// Enter is the beginning of a wait: a call of Take that counts itself and has not looked yet.
func (r *Ring) Enter() { r.waiters.Add(1) }

// Leave is the end of a wait.
func (r *Ring) Leave() { r.leave() }

// HoldPuts holds up every put before it has looked at anything, until release is called.
func (r *Ring) HoldPuts() (release func()) {
	r.putMu.Lock()
	return r.putMu.Unlock
}

// Token takes the token that wakes a waiter, and reports whether there was one.
func (r *Ring) Token() bool {
	select {
	case <-r.wake:
		return true
	default:
		return false
	}
}

// HalfPut is a put that has published uids and has not stored the tail yet.
func (r *Ring) HalfPut(uids ...int64) {
	p := r.tail.Load()
	for _, uid := range uids {
		p++
		r.uids[p&r.mask].Store(uid)
		r.flags[p&r.mask].pos.Store(p)
	}
}

// MaxSize is the largest size that New accepts.
const MaxSize = maxSize
