package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// TicketOptions are the options of Ticket and PlanTickets. nil means the defaults.
type TicketOptions struct {
	Table string // name of the table; "ticket" by default

	// Step is the distance of neighbouring ids of one server, the auto_increment_increment that every server has to
	// have. 0 means as many as there are servers, the least that keeps them apart; a larger one leaves room for servers to come.
	Step int64

	// Batch is the most ids that one Fetch asks a MySQL server for, in one REPLACE of as many rows, 1..1000; 0 means 100. It is
	// also the most rows that a tag takes in the table. 1 is the classic ticket server: a row per tag, a round trip per id.
	Batch int

	// Timeout bounds the wait for one server before the next one is asked, above 0; 0 means 2 s.
	Timeout time.Duration

	_ struct{} // keeps literals keyed
}

const (
	defaultBatch         = 100
	maxBatch             = 1000
	defaultTicketTimeout = 2 * time.Second
	ticketRest           = 10 * time.Second // how long a server that failed is asked only after the others
	maxStub              = 60               // of the 64 characters of the column stub; the rest numbers a batch's rows
)

func (o *TicketOptions) withDefaults(servers int) (TicketOptions, error) {
	var t TicketOptions
	if o != nil {
		t = *o
	}
	if t.Table == "" {
		t.Table = "ticket"
	}
	if t.Step == 0 {
		t.Step = int64(servers)
	}
	if t.Batch == 0 {
		t.Batch = defaultBatch
	}
	if t.Timeout == 0 {
		t.Timeout = defaultTicketTimeout
	}
	switch {
	case servers == 0:
		return t, fmt.Errorf("%w: Ticket: no servers, want 1 or more", ErrOptions)
	case t.Step < int64(servers) || t.Step > maxStride:
		return t, fmt.Errorf("%w: Step is %d, want %d..%d", ErrOptions, t.Step, servers, maxStride)
	case t.Batch < 1 || t.Batch > maxBatch:
		return t, fmt.Errorf("%w: Batch is %d, want 1..%d", ErrOptions, t.Batch, maxBatch)
	case t.Timeout < 0:
		return t, fmt.Errorf("%w: Timeout is %v, want above 0", ErrOptions, t.Timeout)
	}
	return t, nil
}

// Ticket returns the Source over ticket servers: databases whose AUTO_INCREMENT columns count in steps of Step from offsets
// of their own, so that no two give the same id. A tag is a value of the table's unique column stub; REPLACE of it moves
// the tag's row to a fresh id. All tags of a table share its counter. There are no unknown tags: every name that Fetch is
// called with gets its rows, so names must not come from strangers.
//
// The servers are asked in turn; one that fails is passed over for a while. On MySQL a REPLACE of n rows reserves n
// neighbouring ids at once, and one more query on the same connection confirms that session and server count as they
// should: had somebody changed the settings, the ids would be thrown away with ErrTicketServer. PostgreSQL (an
// identity column) and SQLite (one server) give one id per Fetch. The Source is a Checker; a wrong option is reported
// by every method.
func Ticket(dbs []*gorm.DB, opts *TicketOptions) Source {
	o, err := opts.withDefaults(len(dbs))
	t := &ticket{opts: o, err: err}
	for i, db := range dbs {
		if err := checkDB(fmt.Sprint("Ticket: server ", i), db); err != nil {
			t.err = err
			return t
		}
		t.servers = append(t.servers, &ticketServer{index: i, store: store{db: db, dialect: newStore(db).dialect}, opts: o})
	}
	return t
}

type ticket struct {
	opts    TicketOptions
	servers []*ticketServer
	err     error // what is wrong with the options
	guard   guard
	turn    atomic.Uint64 // counts fetches; picks the server that is asked first

	mu      sync.Mutex
	offsets map[int64]int // offset modulo Step -> index of the server that has it
}

// Fetch takes ids from the first server that answers.
func (t *ticket) Fetch(ctx context.Context, tag string, step int64) (Range, error) {
	if t.err != nil {
		return Range{}, t.err
	}
	if err := checkFetch(tag, step, maxStub); err != nil {
		return Range{}, err
	}
	return t.guard.fetch(ctx, tag, func() (Range, error) {
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
		return Range{}, fmt.Errorf("segment: fetch tag %q from table %s: %w", tag, t.opts.Table, errors.Join(append(curable(errs), ctx.Err())...))
	})
}

// order returns all servers, each once: from the one on whose turn it is, with those that failed lately last.
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

// curable returns errs, of which those that are for good have become mere text unless all are: a server that is used up does
// not end a tag that another one, away now, will serve.
func curable(errs []error) []error {
	if !slices.ContainsFunc(errs, func(err error) bool { return !isPermanent(err) }) {
		return errs
	}
	for i, err := range errs {
		if isPermanent(err) {
			errs[i] = errors.New(err.Error())
		}
	}
	return errs
}

// ask takes n ids from s, and notes how it went.
func (t *ticket) ask(ctx context.Context, s *ticketServer, tag string, n int64) (Range, error) {
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	err := t.check(ctx, s)
	var r Range
	if err == nil {
		r, err = s.take(ctx, tag, n)
	}
	s.rest(err)
	return r, err
}

// Check examines every server: at least one has to answer, and each that does has to be set up right.
func (t *ticket) Check(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	var errs []error
	for _, s := range t.servers {
		ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
		err := t.check(ctx, s)
		cancel()
		if errors.Is(err, ErrTicketServer) {
			return fmt.Errorf("segment: check ticket server %d: %w", s.index, err)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("server %d: %w", s.index, err))
		}
	}
	if len(errs) == len(t.servers) {
		return fmt.Errorf("segment: check ticket servers: %w", errors.Join(errs...))
	}
	return nil
}

// check examines a server that was not found good before: its table, its step, and that its offset is its own.
func (t *ticket) check(ctx context.Context, s *ticketServer) error {
	if s.good.Load() {
		return nil
	}
	offset, err := s.examine(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.offsets == nil {
		t.offsets = make(map[int64]int)
	}
	if other, taken := t.offsets[offset]; taken && other != s.index {
		return fmt.Errorf("%w: the offset is %d modulo %d, which server %d has, want one of its own", ErrTicketServer, offset, t.opts.Step, other)
	}
	for o, i := range t.offsets { // it may have had another one before it was repaired
		if i == s.index {
			delete(t.offsets, o)
		}
	}
	t.offsets[offset] = s.index
	s.offset.Store(offset)
	s.good.Store(true)
	return nil
}
