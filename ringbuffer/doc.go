// Package ringbuffer is a bounded ring of uids: a producer composes them ahead of demand, and any number of takers get each of
// them once, in order, for about one compare-and-swap.
//
// It is a double ring. One array has the uids, a second one a flag for each slot, on a cache line of its own, and two
// positions, tail and cursor, say how far puts and takes have come. Type Ring describes who owns which slot and which
// instruction hands it over. In short: a flag holds the position of the uid in its slot, only a put writes it, and a take is a swap of
// the cursor that succeeds only if nobody else took anything meanwhile. So a taker that is stopped at any point
// holds up nobody, one that is overtaken by whole laps gets nothing it should not, and a function of the user's that
// panics leaves the ring whole.
//
// What the parties do at the edges is theirs to say, by Options: PutPolicy when the ring is full, TakePolicy when it is
// empty, OnLow when it is about to be. TryPut, TryTake and their batches know no policy, never wait for the other side, and say
// what happened.
//
// A ring takes 72 bytes a slot where cache lines have 64 bytes: 8 for the uid and a line for the flag. New allocates them; no
// other call allocates anything, except for what the functions of the Options do and what a ctx needs to be waited for.
//
// When it is the wrong tool: it holds int64 values and nothing else; puts are serialised, so that many producers of single
// uids queue up for a mutex; and there is no order among those who wait. A channel is simpler, if 3 to 5 times the
// price does not matter.
package ringbuffer
