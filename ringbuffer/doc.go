// Package ringbuffer is a bounded ring of uids. A producer composes them ahead of demand, and any
// number of takers get each of them once, in order, for about one compare-and-swap.
//
// It is a double ring: one array holds the uids, a second one a flag for each slot, on a cache line
// of its own. Two positions, tail and cursor, say how far puts and takes have come. Type Ring
// describes which goroutine owns which slot, and which instruction hands it over. In short: a flag
// holds the position of the uid in its slot, only a put writes it, and a take is a swap of the
// cursor that succeeds only if no other goroutine took anything meanwhile. So a taker that stops at
// any instruction delays no other, a taker that whole laps have overtaken gets nothing it should
// not get, and a user function that panics leaves the ring whole.
//
// Options decide what happens at the edges: PutPolicy when the ring is full, TakePolicy when it is
// empty. TryPut, TryTake and their batches know no policy, never wait for the other side, and say
// what happened. A producer that refills the ring before it is empty compares Len with a threshold
// after its takes.
//
// A slot takes 72 bytes where cache lines have 64: 8 for the uid and a line for the flag. New
// allocates them. No other call allocates, except for what the functions of Options do and what
// waiting for a ctx needs.
//
// When it is the wrong tool: it holds int64 values and nothing else; puts are serialised, so many
// producers of single uids queue for a mutex; and there is no order among waiters. A channel is
// simpler where 3 to 5 times the price does not matter.
package ringbuffer
