package workernode

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

const (
	// candidates is how many free rows one look at the table reads, and tries is how many of them
	// an Assign tries before it looks again. Each process tries them in an order of its own, so two
	// processes that read the same 128 rows rarely try the same one first. Eight failures say that
	// many others are at it, and then another look with other rows is better than the rest of this
	// one.
	candidates, tries = 128, 8

	// patience bounds the first wait for a row that another session has locked. It doubles with
	// each wait, so that a server which is slow is not mistaken for a lock for long. A second is
	// far above what an UPDATE of one row takes, and short for a start that has other rows to try.
	patience = time.Second

	// ahead is how far beyond the local clock a free row may end. A row that ends later is free
	// only because the database's clock is ahead, and its next owner has no ids until then. A
	// minute is more than two synchronised clocks differ.
	ahead = time.Minute

	none = -1 // stands for no worker id
)

// claimer is one Assign: what it wants, and what it has done so far without knowing the outcome. It
// has one goroutine. Retry calls claim until it gives a claim or an error that lasts:
//
//	got is set                      an earlier call made the change; confirm is what is missing
//	an attempt turns out made       resolve finds it, and it is the claim
//	a free row                      take changes it, by a compare-and-set
//	no free row, a new worker id    newRowOf inserts a row for it, in "default" newRow
//	neither                         assigner.ErrWorkersExhausted
//
// All changes of one Assign carry one nonce, and Assigns that run at the same time have different
// ones. So a row with the nonce and the token of a change is that change, whichever attempt made
// it. An Assign that goes on with the spare of an earlier one has its nonce too, because the
// earlier one may have inserted the row.
//
// Whatever is left behind when an Assign ends without a claim, because ctx ended or the process
// died, is a row that is reserved for one window, or a key of WORKER_NODE without a lease. Both
// cost room and no uniqueness.
type claimer struct {
	table
	node   node   // this process's row in WORKER_NODE
	owner  string // LeasedOptions.Owner
	window int64  // LeasedOptions.Window in milliseconds
	local  func() time.Time
	nonce  int64 // of every change that this Assign makes

	attempts []attempt      // changes whose outcome is unknown
	got      *attempt       // the change that was made; nil: none was, as far as is known
	locked   map[int64]bool // worker ids of rows that other sessions have locked
	patience time.Duration
	offset   int // bound of the random number of free rows that a look leaves out
	heading      // the namespace's layouts, and the database's time, when the attempt began

	fresh  int64   // a new key of WORKER_NODE that has no row yet, or none
	unused []int64 // the lowest worker ids without a row, of a namespace that counts for itself
	among  int     // among how many of them the next one is taken at random
}

// attempt is a change to a row, and where the window begins if it is made. It is noted before the
// UPDATE is sent, and forgotten when an answer says that the row was not changed.
type attempt struct {
	mine   row   // the row after the change
	from   int64 // Unix milliseconds
	locked bool  // another session had the row locked, and the change may still wait for it
}

// claim tries once to get a worker id. A transient error leaves the claimer ready for another try,
// which finds what this one has changed.
//
//	reuse ──► a row, taken ─────────────┐
//	  │                                 ├──► confirm: the layouts permit the window ──► the claim
//	  └─ none in "default" ──► newRow ───┘
//	errAdd: the namespace lacks a layout ──► addLayouts, and another try
//
// The row is committed before confirm reads the header. The other way round a layout could be
// settled between the two, and the window would reach beyond its begin: see header.
func (c *claimer) claim(ctx context.Context) (claim *leasedClaim, err error) {
	if c.got == nil {
		c.got, err = c.reuse(ctx)
	}
	for c.got == nil && err == nil {
		c.got, err = c.newRow(ctx)
	}
	if errors.Is(err, errAdd) {
		if err := c.addLayouts(ctx); err != nil {
			return nil, err
		}
		return nil, errAdd
	}
	if b, ok := errors.AsType[*behindError](err); ok {
		return nil, c.refuse(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	// From here on the row is this process's, and only the layouts can still refuse it. An error
	// leaves got set, so the next try does not take a second row.
	got := c.got
	claim = &leasedClaim{table: c.table, worker: got.mine.worker, window: c.window,
		from: got.from, row: got.mine}
	c.memory.note(got.mine)
	if err := claim.confirm(ctx); err != nil {
		return nil, err
	}
	// Another claim of this process has found out since that the table went back, and may have
	// forgotten the window that this one begins in: the row gets a window behind that.
	if got.from < c.memory.begin() {
		err := c.Do(ctx, func(q *sqldb.Conn) (err error) {
			c.got, err = c.take(ctx, q, got.mine)
			return err
		})
		if err != nil {
			c.got = nil
		}
		return nil, cmp.Or(err, sqldb.ErrChanged)
	}
	// A layout that was settled meanwhile may cut the window to nothing. A window that is over for
	// another reason, because its change was found late, is one that Extend decides about.
	until, h := claim.until.Load(), claim.heading
	if h.cut > 0 && (until <= got.from || until <= h.now) {
		return nil, c.errSuperseded(h)
	}
	return claim, nil
}

// reuse claims a worker id that has a row, or a new one of a namespace that counts for itself. It
// returns nil if newRow is to make a row. All of it runs on one connection: one look at the header,
// one at the free rows, and an UPDATE or an INSERT for each try.
// The looks lock no row, so a fleet that starts together waits at most for the row that it tries.
func (c *claimer) reuse(ctx context.Context) (got *attempt, err error) {
	err = c.Do(ctx, func(q *sqldb.Conn) error {
		if got, err = c.resolve(ctx, q); got != nil || err != nil {
			return err
		}
		err := c.look(ctx, q, "")
		// The namespace's first claim. Another process may insert the header at the same time; the
		// second look reads whose it is.
		if errors.Is(err, errNew) {
			var first bool
			if first, err = c.addHeader(ctx, q); err == nil {
				err = c.look(ctx, q, "")
			}
			if !first { // another process starts at the same time
				c.among = crowd
			}
		}
		if errors.Is(err, errAdd) {
			// addLayouts reads the header in another Do, so it has to be committed.
			return cmp.Or(q.Commit(ctx), err) // the first error of the two
		}
		if err != nil {
			return err
		}
		free, err := c.choose(ctx, q)
		if err != nil {
			return err
		}
		if free == nil {
			if !c.shared() {
				got, err = c.newRowOf(ctx, q)
			}
			return err
		}
		for _, old := range free[:min(tries, len(free))] {
			if got, err = c.take(ctx, q, old); got != nil || err != nil {
				return err
			}
		}
		// Others were faster. There may be many of them, so the next look leaves out a random
		// number of the rows in front. Or the rows come from a replica that lags, which shows the
		// same ones until it has caught up; so there is a pause before the next look.
		c.offset = max(candidates, 2*c.offset)
		return sqldb.ErrChanged
	})
	if err != nil {
		return nil, err // without its COMMIT a change is an attempt, for resolve
	}
	return got, nil
}

// look reads the namespace's header into the claimer's heading, and with it the database's time,
// which decides what is free and where the window ends. lock is the end of the SELECT: empty for a
// look that only chooses, FOR UPDATE where a row is built on what it says. It is errNew without a
// header, errAdd where this claim's layouts have to be added first, and an error that lasts where
// the layouts permit no claim.
func (c *claimer) look(ctx context.Context, q *sqldb.Conn, lock string) (err error) {
	c.heading, err = c.header(ctx, q, lock)
	switch {
	case err != nil:
		return err
	case c.lacks:
		return errAdd
	case c.cut > 0 && c.now >= c.cut:
		return c.errSuperseded(c.heading)
	}
	return nil
}

// choose returns free rows in random order, nil if a new worker id is better. The order keeps the
// processes of a fleet that start together from trying the same rows.
//
// A new worker id is better than a row whose window ends ahead of the local clock, as long as there
// are new ones. Where there are none, every free row will do: its next owner waits until the clock
// gets there. The local clock decides nothing else. If it is wrong, the choice is a worse one and
// the window is as disjoint as ever, because it begins at the row's end.
func (c *claimer) choose(ctx context.Context, q *sqldb.Conn) ([]row, error) {
	// A look that is not the first leaves rows out at random, so that processes which read the same
	// rows part.
	skip := 0
	if c.offset > 0 {
		skip = rand.IntN(c.offset)
	}
	free, err := c.free(ctx, q, c.heading, candidates, skip)
	if len(free) == 0 && skip > 0 && err == nil { // fewer rows are free than were left out
		c.offset = 0
		free, err = c.free(ctx, q, c.heading, candidates, 0)
	}
	if err != nil {
		return nil, err
	}
	// A row that another session has locked costs patience each time, so it comes again only when
	// nothing else is left: see room.
	free = slices.DeleteFunc(free, func(r row) bool { return c.locked[r.worker] })
	// The rows come with their ends in ascending order.
	limit := c.local().Add(ahead).UnixMilli()
	passed := slices.IndexFunc(free, func(r row) bool { return r.until > limit })
	if passed < 0 {
		passed = len(free)
	}
	// No row has ended by the local clock: either none is free, or all that are lie ahead.
	if passed == 0 {
		switch err := c.room(ctx, q); {
		case err == nil:
			return nil, nil
		case len(free) == 0 || !errors.Is(err, assigner.ErrWorkersExhausted):
			return nil, err
		}
		passed = len(free)
	}
	// Only among rows that have ended: the order of the rest does not matter, because they are left
	// out.
	rand.Shuffle(passed, func(i, j int) { free[i], free[j] = free[j], free[i] })
	return free[:passed], nil
}

// resolve reads back the rows whose change broke off without an answer, and returns the attempt
// that was made, nil if none was. A change that is still on its way may be made later; its row then
// stays unused until its window has passed. The newest attempt is read first.
//
// It reads in another Do than the one that broke off, because a Do that failed cannot tell what it
// has committed. An attempt whose row another session had locked is the exception: its UPDATE may
// still wait for that lock on the server, so it is kept until it is made, and looked for without
// waiting.
func (c *claimer) resolve(ctx context.Context, q *sqldb.Conn) (*attempt, error) {
	var waiting []attempt
	for _, a := range slices.Backward(c.attempts) {
		if a.locked {
			// find waits for the row's lock too, so it is called only when the row shows the
			// change.
			made, err := c.has(ctx, q, a.mine)
			if err != nil {
				return nil, err
			}
			if !made {
				waiting = append(waiting, a)
				continue
			}
		}
		found, _, err := c.find(ctx, q, a.mine.worker)
		if err != nil {
			return nil, err
		}
		if found != nil && found.is(a.mine) {
			return c.prove(ctx, q, a)
		}
	}
	c.attempts = waiting
	return nil, nil
}

// take changes the free row old into this process's, and returns nil if another process was faster.
// The window begins at the old one's end, whatever the clocks say, or later if this process knows
// of windows that the table forgot.
//
// The UPDATE waits where another session has the row locked, for patience at most. The statement is
// then given up on this side. Whether the server gives it up too is unknown, so the row is left
// alone while there are others (locked), and what becomes of it is looked up by the next try
// (attempts).
func (c *claimer) take(ctx context.Context, q *sqldb.Conn, old row) (*attempt, error) {
	if known, ok := c.memory.row(old.worker); ok && old.behind(known) {
		return nil, &behindError{&old, known}
	}
	// This is where windows become disjoint: no owner before has stamped, or may stamp, at or after
	// the end that it left in the row, and the compare-and-set below fails if it has moved that end
	// since.
	from := max(old.until, c.memory.begin())
	mine := row{
		worker: old.worker,
		token:  old.token + 1,
		nonce:  c.nonce,
		owner:  c.owner,
		until:  max(old.until, c.windowEnd(from)), // no row's end moves back
	}
	return c.try(ctx, attempt{mine: mine, from: from}, func(ctx context.Context) (bool, error) {
		return c.swap(ctx, q, old, mine)
	})
}

// windowEnd returns where a new window ends that begins at from: a whole Window later, but not
// beyond the reach or the layouts. One that begins beyond the reach is empty.
func (c *claimer) windowEnd(from int64) int64 {
	return c.end(max(from, min(max(c.now, from)+c.window, c.now+c.reach)))
}

// prove makes one more change of a row whose last one was read back, and not answered. A server may
// show a change before it is safe: a semi-synchronous MySQL shows a row to others while its COMMIT
// still waits for a replica. The answer to a later change covers all before it. prove returns
// ErrChanged if the row is no longer that.
func (c *claimer) prove(ctx context.Context, q *sqldb.Conn, a attempt) (*attempt, error) {
	old := a.mine
	a.locked = false
	a.mine.token++
	got, err := c.try(ctx, a, func(ctx context.Context) (bool, error) {
		return c.swap(ctx, q, old, a.mine)
	})
	if got == nil && err == nil {
		err = sqldb.ErrChanged
	}
	return got, err
}

// try makes a change, which may wait for a lock for no longer than patience. It returns nil if the
// change was not made. With an error the outcome is unknown, and resolve finds it out.
func (c *claimer) try(
	ctx context.Context, a attempt, change func(context.Context) (made bool, err error),
) (*attempt, error) {
	// Before the change is sent, because from then on it may happen.
	c.attempts = append(c.attempts, a)
	short, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	// One statement that commits itself, or with the end of Do. Until Do has returned nil it is not
	// known to be made.
	made, err := change(short)
	if err != nil {
		// It was the row that took too long, and not the caller who had too little time: the change
		// may still wait for the row, and other rows come first.
		if short.Err() != nil && ctx.Err() == nil {
			c.attempts[len(c.attempts)-1].locked = true
			c.locked[a.mine.worker] = true
			c.patience *= 2
		}
		return nil, err
	}
	if !made {
		c.attempts = c.attempts[:len(c.attempts)-1]
		return nil, nil
	}
	return &a, nil
}
