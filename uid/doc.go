// Package uid makes unique, time-ordered 63-bit ids inside the process that needs them.
//
// # What to open
//
// A generator needs an assigner, which tells it its worker id. In production that is
// workernode.Leased on the one database that all processes share whose ids may meet:
//
//	gen, err := uid.NewCached(ctx, workernode.Leased(db, nil), nil)
//
// Make one generator per process and layout, share it between all goroutines, and close it at the
// end. Cached is the generator to use: ids are composed ahead of demand and handed out for about
// one atomic instruction each. Default asks the clock for every id; it is the yardstick, and the
// home of the snowflake family.
//
//	Next, Fill            one id, many ids
//	NextGene, FillGene    ids that carry the shard of a key
//	Parse                 an id taken apart
//	Stats                 what the generator is doing
//	Close                 gives the unused rest of the worker id's window back
//
// An ID is an int64 whose text and JSON form is a decimal string, because JavaScript cannot hold
// these numbers.
//
// # Concurrency and lifetime
//
// All methods of a generator are safe for concurrent use. A generator that is shared by all
// goroutines is the fast way as well: ids composed ahead are shared, and so is the claim.
//
// Constructors do I/O: they ask the assigner for a worker id, and wait for it until their ctx ends.
// Next, Fill, NextGene and FillGene wait only where Options says so, honour the caller's ctx while
// they do, and read it only then. No method holds a lock while it waits.
//
// Close is worth calling: it gives the unused rest of the window back, so that another process may
// have the worker id at once. Without it the worker id stays reserved to the window's end. A
// process that is killed costs nothing else: no id is repeated by the next one.
//
// # Errors
//
//	ErrOptions, bitsalloc.ErrLayout   a field is out of range; the text names it and the bound
//	ErrClosed                         the generator was closed; permanent
//	ErrExhausted                      the time bits are used up; permanent
//	ErrNoGene                         NextGene or FillGene on a layout without GeneBits; permanent
//	ErrClaimExpired                   the authority has not answered for a whole window; temporary
//	ErrSucceeded                      an era has begun that this process does not know; permanent
//	ErrClaimLost                      another owner has the worker id; see NoReassign
//	ErrLead                           MaxLead ahead of the clock, with TakeReject; temporary
//	ErrEmpty                          no id is ready, with TakeReject; temporary
//	ErrClockBack                      the clock went back, Default only; temporary
//	assigner.ErrWorkersExhausted      no worker id is free, until one is released or expires
//	assigner.ErrLayoutMismatch        other claims of the namespace have another layout
//
// A caller that waits honours its ctx, and the error then wraps that of the ctx.
//
// # Glossary
//
//	tick         the unit of an id's time, one second by default
//	worker id    the number that tells one generator from all others
//	sequence     the number within a tick and a worker
//	claim        a worker id together with a window of time that is its holder's alone
//	window       the stretch of time in which ids may be stamped
//	lease        a claim whose window has an end and is extended
//	position     (tick, sequence) of what is composed next, read as one number
//	run          RunLength consecutive ids
//	ring         the store of runs, filled ahead of demand
//	lane         the word from which callers take the ids of one run after the other
//	padder       the goroutine that keeps the ring full and its contents honest
//	lead, lag    how far an id's time is ahead of the clock, or behind it
//	gene         low bits of an id that carry the shard of the key it was made for
//
// docs/design.md says why ids are unique, docs/concurrency.md has every word that goroutines share.
package uid
