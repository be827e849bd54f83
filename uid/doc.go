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
//	assigner.ErrSuperseded            an era has begun that is not known here; permanent
//	assigner.ErrClaimLost             another owner has the worker id; temporary
//	ErrLead                           MaxLead ahead of the clock, with TakeReject; temporary
//	ErrEmpty                          no id is ready, with TakeReject; temporary
//	ErrClockBack                      the clock went back, Default only; temporary
//	assigner.ErrWorkersExhausted      no worker id is free, until one is released or expires
//	assigner.ErrLayoutMismatch        other claims of the namespace have another layout
//
// A caller that waits honours its ctx, and the error then wraps that of the ctx. Temporary tells
// temporary errors from permanent ones.
//
// # When something fails
//
//	the authority is away      ids to the window's end, then ErrClaimExpired until it answers
//	the worker id is lost      ids of a new worker id from a new tick on; without one, ids to the
//	                           window's end, then assigner.ErrClaimLost
//	a burst                    Cached: ids ahead of the clock, as far as MaxLead permits
//	                           Default: callers wait for the next tick
//	the clock goes back        Cached: ids go on, with a larger lead
//	                           Default: what Rollback says
//	the clock jumps ahead      ids with the time of before the jump, until it is believed
//	the process pauses         afterwards ids to its window's end, and beyond it only if no other
//	                           process has taken the worker id meanwhile
//	the process is killed      the worker id is free again when the window has passed
//	the process is copied      the two may make the same ids until one of them has extended
//
// Health says whether ids are handed out, Stats and the Logger why not.
//
// # Glossary
//
//	tick           the unit of an id's time, one second by default
//	worker id      the number that tells one generator from all others
//	sequence       the number within a tick and a worker
//	layout         how many bits each of them has, the epoch, and the length of a tick
//	era            a layout and the instant from which it is used
//	claim          a worker id together with a window of time that is its holder's alone
//	window         the stretch of time in which ids may be stamped
//	lease          a claim whose window has an end and is extended
//	authority      what remembers the claims: a database, for one
//	fencing token  the number by which an authority tells a claim's owner from earlier ones
//	namespace      a universe of ids: claims of one have different worker ids, or disjoint windows
//	position       (tick, sequence) of what is composed next, read as one number
//	number         an id without its gene bits
//	run            RunLength consecutive ids
//	run head       the first number of a run, which stands for it in the ring
//	ring           the store of runs, filled ahead of demand
//	lane           the word from which callers take the ids of one run after the other
//	composer       the owner of the position, which composes runs and puts them into the ring
//	padder         the goroutine that keeps the ring full and its contents honest
//	gate           where callers wait for any change that may let them go on
//	keeper         the goroutine that extends the claim, and replaces one that is lost
//	lead, lag      how far an id's time is ahead of the clock, or behind it
//	gene           low bits of an id that carry the shard of the key it was made for
//
// # Files
//
// generator.go, options.go and errors.go are the contract. cached.go and fill.go are the path of a
// call, through seat.go and lane.go. composer.go and padder.go fill the ring. default.go is the
// generator that asks the clock, with tickcache.go and rollback.go. Both stand on core.go:
// timeline.go turns positions into ids and times, keeper*.go and window.go keep the claim, whose
// errors are in claimerror.go, clock.go reads the clock, and gate.go is where callers wait.
// blocked.go, stats*.go, health.go and fullring.go say how a generator is, journal.go logs it.
// id*.go, encoding.go and scatter.go are the forms of an id, filleach.go fills a slice of rows.
//
// docs/design.md says why ids are unique, docs/concurrency.md has every word that goroutines share.
package uid
