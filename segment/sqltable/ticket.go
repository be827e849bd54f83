package sqltable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/textonly"
	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
)

// TicketOptions are the options of Ticket. nil means the defaults.
type TicketOptions struct {
	Table string // name of the table; "ticket" by default

	// Step is the distance between neighbouring ids of one server: the auto_increment_increment
	// that every server must have, at least the number of servers and at most 65535. 0 means the
	// number of servers. A larger step leaves room for more servers. A server that "uid segment
	// expand" has changed counts by its plan, whatever Step says.
	Step int64

	// Batch is the most ids that one Fetch takes from a MySQL server, in one REPLACE of as many
	// rows, 1..1000; 0 means 100. It is also the most rows of a tag in the table. 1 is the classic
	// ticket server: a row per tag, a round trip per id.
	Batch int

	// Timeout bounds the wait for one server before the next one is asked, above 0; 0 means 2 s.
	Timeout time.Duration

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two concurrent
	// changes of a row. Ids may then repeat. By default these databases are refused.
	AcceptLostUpdates bool

	_ struct{} // keeps literals keyed
}

const (
	defaultBatch         = 100
	maxBatch             = 1000
	defaultTicketTimeout = 2 * time.Second
	ticketRest           = 10 * time.Second // how long a server that failed is asked last
	// Of the column's 64 characters; the rest numbers the rows of a batch, up to 999.
	maxStub = 60
)

func (o *TicketOptions) withDefaults(servers int) (TicketOptions, error) {
	var t TicketOptions
	if o != nil {
		t = *o
	}
	t.Table = cmp.Or(t.Table, "ticket")
	t.Step = cmp.Or(t.Step, int64(servers))
	t.Batch = cmp.Or(t.Batch, defaultBatch)
	t.Timeout = cmp.Or(t.Timeout, defaultTicketTimeout)
	switch {
	case servers == 0:
		return t, invalid("Ticket: no servers, want 1 or more")
	case t.Step < int64(servers) || t.Step > segbound.Stride:
		return t, invalid("Step is %d, want %d..%d", t.Step, servers, segbound.Stride)
	case t.Batch < 1 || t.Batch > maxBatch:
		return t, invalid("Batch is %d, want 1..%d", t.Batch, maxBatch)
	case t.Timeout < 0:
		return t, invalid("Timeout is %v, want above 0", t.Timeout)
	}
	return t, nil
}

// Ticket returns a Source over ticket servers: databases whose AUTO_INCREMENT columns count in
// steps of Step from different offsets, so that no two servers give the same id. A tag is a value
// of the table's unique column stub; a REPLACE moves the tag's row to a new id. All tags of a table
// share its counter. A tag that begins with "uid-ticket-plan" is ErrUnknownTag. Every other tag
// gets its rows with its first Fetch, so names must not come from strangers.
//
// The servers are asked in turn. After a failure a server is asked last for ten seconds. On MySQL a
// REPLACE of n rows reserves n neighbouring ids at once. One more query on the same connection then
// confirms that session and server count as they should. If the settings were changed, the ids are
// discarded and Fetch returns ErrTicketServer. PostgreSQL (an identity column) and SQLite (one
// server) give one id per Fetch. The Source is a Checker. Every method returns the error of an
// invalid option or database.
func Ticket(dbs []DB, opts *TicketOptions) segment.Source {
	o, err := opts.withDefaults(len(dbs))
	t := &ticket{opts: o}
	if err != nil {
		t.err = fmt.Errorf("sqltable: %w", err)
		return t
	}
	for i, db := range dbs {
		d, err := openDB(fmt.Sprint("ticket server ", i), db, o.AcceptLostUpdates)
		if err != nil {
			t.err = err
			return t
		}
		t.servers = append(t.servers, &ticketServer{
			index: i, db: d, table: d.Quote(o.Table), opts: o,
		})
	}
	return t
}

// ticket is a set of ticket servers. It is the Source that Ticket returns.
type ticket struct {
	opts    TicketOptions
	servers []*ticketServer
	err     error         // of the options, or of a database
	turn    atomic.Uint64 // counts fetches; selects the server that is asked first

	mu      sync.Mutex
	offsets map[[2]int64]int // {step, offset % step} -> index of the server; guarded by mu
}

// Fetch takes ids from the first server that answers, beginning with the one whose turn it is. It
// hands out at most Batch ids.
func (t *ticket) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if t.err != nil {
		return segment.Range{}, t.err
	}
	if err := checkFetch(tag, step, maxStub); err != nil {
		return segment.Range{}, err
	}
	if isPlan(tag) {
		return segment.Range{}, fmt.Errorf(
			"sqltable: %w: the tag begins with %q, which is reserved for plans",
			segment.ErrUnknownTag, ticketplan.Mark)
	}
	n := min(max(step, 1), int64(t.opts.Batch))
	var errs []error
	for _, s := range t.order() {
		if ctx.Err() != nil {
			break
		}
		r, err := t.ask(ctx, s, tag, n)
		if err == nil {
			return r, nil
		}
		errs = append(errs, fmt.Errorf("server %d: %w", s.index, err))
	}
	err := errors.Join(append(curable(errs), ctx.Err())...)
	return segment.Range{}, fmt.Errorf("sqltable: table %s: %w", t.opts.Table, err)
}

// isPlan reports whether a tag is reserved for plans, in any case: a collation may ignore case.
func isPlan(tag string) bool {
	const mark = ticketplan.Mark
	return len(tag) >= len(mark) && strings.EqualFold(tag[:len(mark)], mark)
}

// order returns all servers, beginning with the one whose turn it is. Servers that failed recently
// come last. They are still asked if no other answers, so that a set of which every server failed
// does not fail without a try for ten seconds.
func (t *ticket) order() []*ticketServer {
	first := int((t.turn.Add(1) - 1) % uint64(len(t.servers)))
	turn := slices.Concat(t.servers[first:], t.servers[:first])
	awake, resting := make([]*ticketServer, 0, len(turn)), []*ticketServer(nil)
	for _, s := range turn {
		if s.resting() {
			resting = append(resting, s)
		} else {
			awake = append(awake, s)
		}
	}
	return append(awake, resting...)
}

// curable returns errs. Unless all of them are answers about the tag, it replaces those that are by
// errors with the same text that do not wrap a sentinel. A server that is exhausted must not make
// the tag fail permanently if another one, which is away, can still serve it.
func curable(errs []error) []error {
	if !slices.ContainsFunc(errs, func(err error) bool { return !isAnswer(err) }) {
		return errs
	}
	for i, err := range errs {
		if isAnswer(err) {
			errs[i] = textonly.Error(err)
		}
	}
	return errs
}

// ask takes n ids from s and records whether that failed. A server that does not answer within
// Timeout counts as failed, so that ctx leaves time for the others.
func (t *ticket) ask(
	ctx context.Context, s *ticketServer, tag string, n int64,
) (r segment.Range, err error) {
	bounded, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	if err = t.check(bounded, s); err == nil {
		r, err = s.take(bounded, tag, n)
	}
	if err == nil || ctx.Err() == nil { // else the caller has gone, which is not the server's fault
		s.rest(err)
	}
	return r, err
}

// Check examines every server. At least one has to be usable. Each server that answers has to be
// configured correctly, or has to have a plan that will make it so, and must not have gone back.
func (t *ticket) Check(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	var errs []error
	for _, s := range t.servers {
		ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
		err := t.check(ctx, s)
		if err == nil && s.floor.Load() > 0 {
			err = s.db.Do(ctx, func(c *sqldb.Conn) error { return s.stillBack(ctx, c) })
			s.rest(err) // without an error it is asked in turn again
		}
		cancel()
		var planned plannedError
		switch {
		case errors.Is(err, ErrTicketServer) && !errors.As(err, &planned),
			errors.Is(err, segment.ErrRangeWentBack):
			return s.named(err)
		case errors.Is(err, sqldb.ErrUnfit):
			return fmt.Errorf("%w (%w)", err, segment.ErrOptions)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("server %d: %w", s.index, err))
		}
	}
	if len(errs) == len(t.servers) {
		return fmt.Errorf("sqltable: no ticket server can be used: %w", errors.Join(errs...))
	}
	return nil
}

// check examines a server unless it is known to be good: its table, its step, and that no other
// server has its offset.
func (t *ticket) check(ctx context.Context, s *ticketServer) error {
	if s.good.Load() {
		return nil
	}
	k, err := s.examine(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.offsets == nil {
		t.offsets = make(map[[2]int64]int)
	}
	own := [2]int64{k.step, k.offset}
	if other, taken := t.offsets[own]; taken && other != s.index {
		return wrong("the offset is %d modulo %d, which server %d has, want one of its own",
			k.offset, k.step, other)
	}
	// No other server has the offset. It stays this server's until the server is examined again.
	for o, i := range t.offsets { // drop the offset that it had before a repair
		if i == s.index {
			delete(t.offsets, o)
		}
	}
	t.offsets[own] = s.index
	s.counts.Store(&k)
	s.good.Store(true)
	return nil
}
