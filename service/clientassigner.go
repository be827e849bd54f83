package service

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/textonly"
	"github.com/uidring/uidring/service/internal/wire"
)

// Assign claims a worker id in the namespace that the servers use. It implements assigner.Assigner.
// The windows of its claims are those of the authority behind the servers. While no server answers,
// Assign asks again after growing pauses, until ctx ends. Call BindLayout first, as the generators
// of package uid do: the servers refuse a claim that is not bound to a layout.
//
// Only the server that made a claim knows it. When that server is gone or was restarted, Extend
// fails with assigner.ErrClaimLost. The generators of package uid then use the window to its end
// and claim another worker id meanwhile, and no call fails. The old worker id stays reserved until
// its window ends, and so does a worker id whose claim was lost with the answer. Leave room for
// twice as many worker ids as there are clients.
func (c *Client) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	return bound{c, ""}.Assign(ctx, maxWorker)
}

// BindLayout returns an Assigner for claims of one layout, or of one list of layouts. It implements
// assigner.LayoutBinder.
func (c *Client) BindLayout(layout string) assigner.Assigner { return bound{c, layout} }

// bound is an Assigner for claims of one layout.
type bound struct {
	*Client

	layout string
}

// BindLayout returns an Assigner for another layout.
func (b bound) BindLayout(layout string) assigner.Assigner { return bound{b.Client, layout} }

// Assign is Client.Assign for the layout.
func (b bound) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	ask := wire.Assign{MaxWorker: maxWorker, Layout: b.layout, Owner: b.owner}
	check := func(got wire.Claim) error { return checkClaim(got, maxWorker) }
	var (
		at  int
		got wire.Claim
	)
	err := repeat(ctx, func() (err error) {
		got, at, err = round(ctx, b.Client, anyServer, wire.AssignPath, ask, check)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("service: claiming a worker id: %w", err)
	}
	claim := &held{client: b.Client, home: at, key: got.Key, worker: got.Worker,
		from: got.From.Time, span: time.Duration(got.SpanMS) * time.Millisecond}
	claim.until.Store(&got.Until.Time)
	claim.universe.Store(&got.Universe)
	if got.TellsTime {
		return clock{claim}, nil
	}
	return claim, nil
}

// checkClaim returns what makes no sense in a new claim, or nil. Every claim has a name: an answer
// without one is that of another service, and its worker id, 0 if absent, may be in use.
func checkClaim(got wire.Claim, maxWorker int64) error {
	switch {
	case got.Key == "":
		return errors.New("the claim has no name")
	case got.Worker < 0 || got.Worker > maxWorker:
		return fmt.Errorf("the worker id is %d, want 0..%d", got.Worker, maxWorker)
	case !got.Until.IsZero() && !got.Until.After(got.From.Time):
		return fmt.Errorf("the window is [%v, %v), want an end after its start",
			got.From.Time, got.Until.Time)
	case got.SpanMS < 0 || got.SpanMS > longestWindow.Milliseconds():
		return fmt.Errorf("the span is %d ms, want 0..%d", got.SpanMS, longestWindow.Milliseconds())
	}
	if err := checkName(got.Universe); err != nil {
		return err
	}
	// An authority reserves a day or three windows ahead. A window that begins in 2060 would take
	// the ids there, and so the worker id and the layout's time.
	span := time.Duration(got.SpanMS) * time.Millisecond
	ahead := maxAhead + 3*span
	if now := time.Now(); got.From.After(now.Add(ahead)) {
		return fmt.Errorf("the window begins at %v, want at most %v after the local clock's %v: "+
			"one of the clocks is wrong", got.From.Time, ahead, now.UTC())
	}
	return nil
}

// maxAhead and three windows are how far ahead of the local clock a claim may begin: a day, and an
// hour for clocks that differ.
const maxAhead = 25 * time.Hour

// checkName returns an error unless a name is one that a universe can have.
func checkName(universe string) error {
	const longest = 64 // it is a label of metrics
	if n := len(universe); n > longest {
		return fmt.Errorf("the universe's name has %d bytes, want at most %d", n, longest)
	}
	return nil
}

// longestWindow is the longest window of any store, which is package lease's.
const longestWindow = 366 * 24 * time.Hour

// held is a claim that a server has made. One goroutine at a time calls Extend or Release, and
// only they write closing, released, until and universe. Any goroutine may load the last two.
type held struct {
	client   *Client
	home     int // the server that made it
	key      string
	worker   int64
	from     time.Time
	span     time.Duration             // 0: not known
	until    atomic.Pointer[time.Time] // only grows; zero: without end
	universe atomic.Pointer[string]    // as the last answer had it; may be empty
	closing  bool                      // Release was called
	released bool                      // Release has succeeded
}

// Worker returns the worker id.
func (c *held) Worker() int64 { return c.worker }

// Window returns the window that the last answer reported.
func (c *held) Window() (from, until time.Time) { return c.from, *c.until.Load() }

// Span returns how long a new window is, or 0 if the server does not know. It implements
// assigner.Windowed.
func (c *held) Span() time.Duration { return c.span }

// Universe returns the name of the server's universe of ids. It implements assigner.Named.
func (c *held) Universe() string { return *c.universe.Load() }

// spare is the part of a window that is kept for claiming another worker id. While more than that
// is left, a claim is not reported lost just because its server does not answer: it may come back.
const spare = time.Minute

// Extend asks the server that made the claim for a longer window. If that one does not answer, it
// asks the others, which may be other addresses of the same server: that one of them does not know
// the claim says nothing about the rest. It asks each server once. If the window already reaches
// until, Extend returns at once.
func (c *held) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	before := *c.until.Load()
	switch {
	case c.closing:
		return time.Time{}, fmt.Errorf("%w: service: worker id %d was given back",
			assigner.ErrClaimLost, c.worker)
	case before.IsZero() || !until.After(before):
		return before, nil
	}
	ask := wire.Extend{Key: c.key, Worker: c.worker, Until: until}
	check := func(got wire.Claim) error {
		if got.Worker != c.worker || got.Until.Before(before) {
			return fmt.Errorf("the claim is on worker id %d until %v, want %d until %v or later",
				got.Worker, got.Until.Time, c.worker, before)
		}
		return checkName(got.Universe)
	}
	got, at, err := round(ctx, c.client, c.home, wire.ExtendPath, ask, check)
	if at < 0 && time.Until(before) > spare {
		err = notLost(err)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("service: extending the claim on worker id %d: %w",
			c.worker, err)
	}
	c.until.Store(&got.Until.Time)
	c.universe.Store(&got.Universe)
	return got.Until.Time, nil
}

// notLost returns err without ErrClaimLost, for a round in which the server that made the claim has
// not answered: it may know the claim still, whatever the others say.
func notLost(err error) error {
	if errors.Is(err, assigner.ErrClaimLost) {
		return textonly.Error(err)
	}
	return err
}

// Release gives the rest of the window back. It asks the servers as Extend does: only the one that
// made the claim can do it, but it may have other addresses. If that one no longer knows the claim,
// because it has given it back or was restarted, there is nothing more to do. Even if Release
// fails, the worker id is free when the window ends.
func (c *held) Release(ctx context.Context, used time.Time) error {
	if c.released {
		return nil
	}
	c.closing = true
	ask := wire.Release{Key: c.key, Worker: c.worker, Used: wire.Instant{Time: used}}
	check := func(struct{}) error { return nil } // the answer is an empty object
	_, at, err := round(ctx, c.client, c.home, wire.ReleasePath, ask, check)
	switch {
	case at < 0:
		err = notLost(err)
	case errors.Is(err, assigner.ErrClaimLost):
		err = nil
	}
	if err != nil {
		return fmt.Errorf("service: releasing worker id %d: %w", c.worker, err)
	}
	c.released = true
	return nil
}

// clock is a claim whose authority tells the time.
type clock struct{ *held }

// Now returns the authority's time. It asks the server that made the claim first and then the
// others, which have the same authority.
func (c clock) Now(ctx context.Context) (time.Time, error) {
	check := func(got wire.Time) error {
		if got.Now.IsZero() {
			return errors.New("there is no time in it")
		}
		return nil
	}
	ask := wire.Now{Key: c.key, Worker: c.worker}
	got, at, err := round(ctx, c.client, c.home, wire.NowPath, ask, check)
	if at < 0 {
		err = notLost(err)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("service: asking for the time: %w", err)
	}
	return got.Now, nil
}
