package segment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/loglimit"
)

// Generator hands out ids from the ranges of a Source, of which it holds two per tag. New starts a
// goroutine that refreshes the tags periodically. Each fetch runs in its own goroutine, one per tag
// at a time. Close stops these goroutines and waits for them. All methods are safe for concurrent
// use.
//
// No id is handed out twice, by any number of Generators on sources over the same tables. Within a
// Generator the ids of a tag rise if the source's ranges do. Across Generators they are only
// roughly increasing, because each counts through its own range.
//
// A process that dies loses what it holds of each tag: up to two ranges, which are gaps. No other
// process waits for it, because nothing is reserved for a time.
type Generator struct {
	// tags maps names to tags: string -> *Tag. Tags are added under mu. A tag that never had a
	// range may remove itself. No other tag is ever removed.
	tags sync.Map

	// Read-only after New.
	src   Source
	opts  Options
	spawn func(f func(context.Context)) // runs f in a goroutine; stop ends its ctx
	stop  func()

	// fetching returns the ctx of one fetch, which abort ends and stop does not.
	fetching func() (context.Context, context.CancelFunc)
	abort    func()

	// Bounds on the cost of unknown names; see stranger.go.
	unknown unknown
	firsts  chan struct{} // holds a token for each first fetch under way

	// Bounds on the log: there may be many tags, and names that strangers make up.
	failed, back, gone loglimit.Limit

	// mu guards what follows. It is locked before any Tag.mu, never after. No goroutine waits or
	// does I/O while it holds mu.
	mu        sync.Mutex
	closed    bool
	refreshed time.Time // when the source was last listed
	rows      []Row     // the rows that it listed then; read-only
	listErr   error     // of the last listing

	running   sync.WaitGroup // counts the goroutines of spawn; not guarded by mu
	closeOnce sync.Once
	closeErr  error // guarded by closeOnce
}

// New returns a Generator over src. If src is a Checker, New calls Check. With Options.Listed it
// also lists the tags, whose first ranges arrive later. It fails if the source does not answer. nil
// options mean the defaults. It blocks until the source has answered or ctx ends; ctx means nothing
// to the Generator afterwards. Errors wrap ErrOptions, the source's error, or that of ctx; no
// goroutine runs then.
func New(ctx context.Context, src Source, opts *Options) (*Generator, error) {
	o, err := opts.withDefaults()
	lister, isLister := src.(Lister)
	switch {
	case err != nil:
		return nil, err
	case src == nil:
		return nil, fmt.Errorf("%w: src is nil", ErrOptions)
	case o.Listed && !isLister:
		return nil, fmt.Errorf("%w: Listed is set, and %T has no List", ErrOptions, src)
	}
	// Before anything is started: a source that is not fit must not be asked for a range.
	if c, ok := src.(Checker); ok {
		if err := c.Check(ctx); err != nil {
			return nil, fmt.Errorf("segment: check the source: %w", err)
		}
	}
	g := &Generator{src: src, opts: o, firsts: make(chan struct{}, maxFirsts)}
	run, stop := context.WithCancel(context.Background())
	g.stop = stop
	fetches, abort := context.WithCancel(context.Background())
	g.abort = abort
	g.fetching = func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(fetches, o.FetchTimeout)
	}
	g.spawn = func(f func(context.Context)) { g.running.Go(func() { f(run) }) }
	if o.Listed {
		if _, err := g.list(ctx, lister); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	if o.Refresh > 0 {
		g.spawn(g.refreshLoop)
	}
	return g, nil
}

// Next returns an id of tag that no other call ever returns. It looks the tag up in a map and calls
// Tag.Next, which has the errors. The first call for a tag waits for the tag's first range.
func (g *Generator) Next(ctx context.Context, tag string) (int64, error) {
	for { // one iteration, unless the tag is dropped after the look-up
		t, err := g.lookUp(tag)
		if err != nil {
			return 0, err
		}
		if id, err := t.Next(ctx); err != errDropped {
			return id, err
		}
	}
}

// Fill sets every element of ids to its own id of tag and returns how many it set: len(ids), or
// fewer together with the error that stopped it. It looks the tag up and calls Tag.Fill. A tag that
// is dropped meanwhile never had a range, so nothing was set and the call begins anew.
func (g *Generator) Fill(ctx context.Context, tag string, ids []int64) (int, error) {
	for {
		t, err := g.lookUp(tag)
		if err != nil {
			return 0, err
		}
		if n, err := t.Fill(ctx, ids); err != errDropped {
			return n, err
		}
	}
}

// Tag returns the handle of a tag. It waits for the tag's first range, if there is none yet. It
// returns ErrUnknownTag if the source does not have the tag, and otherwise the errors of Tag.Next.
// The same name gives the same handle for as long as the Generator is open.
func (g *Generator) Tag(ctx context.Context, tag string) (*Tag, error) {
	return begun(ctx, func() (*Tag, error) { return g.lookUp(tag) })
}

// begun returns the tag of lookUp once it has a range. It repeats lookUp if the tag is dropped
// meanwhile.
func begun(ctx context.Context, lookUp func() (*Tag, error)) (*Tag, error) {
	for {
		t, err := lookUp()
		// A tag that has had a range keeps a buffer of some length, unless the source has lost it.
		if err != nil || t.cur.Load().len > 0 {
			return t, err
		}
		if _, err = t.wait(ctx, 0); err == nil {
			return t, nil
		}
		if err != errDropped {
			return nil, err
		}
	}
}

// lookUp returns the tag of that name and creates it if there is none. A tag that exists costs a
// load of the map and no lock. A name that the source did not know costs unknown's lock, and only a
// new one that of the Generator.
func (g *Generator) lookUp(name string) (*Tag, error) {
	if t := g.find(name); t != nil {
		return t, nil
	}
	if err := g.refuse(name); err != nil {
		return nil, cmp.Or(g.open(), err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	t := g.add(name)
	t.prefetch()
	return t, nil
}

// find returns the tag of that name, or nil. It takes no lock: a tag that is added or removed
// meanwhile may be found or not.
func (g *Generator) find(name string) *Tag {
	v, _ := g.tags.Load(name)
	t, _ := v.(*Tag)
	return t
}

// add returns the tag of that name. If there is none, it creates one, and the caller starts its
// first fetch. The caller holds mu, so two callers do not create two tags of one name. A tag that
// dropped itself is no longer in the map, so a new one is made.
func (g *Generator) add(name string) *Tag {
	// Looked up again under mu: another caller may have added it since lookUp.
	t := g.find(name)
	if t == nil {
		t = newTag(g, strings.Clone(name)) // name may keep a long request in memory
		g.tags.Store(t.name, t)
	}
	return t
}

// Close stops the Generator. Calls fail with ErrClosed from then on, waiting ones included. Close
// cancels the fetches and waits for the goroutines. With Checkpoint it lets the fetches under way
// end first, for half of its time at most, and then gives the unused ids back. All of that may take
// FetchTimeout. An error says which ids could not be given back; they are a gap, which does no
// other harm. Further calls return the result of the first.
func (g *Generator) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), g.opts.FetchTimeout)
	defer cancel()
	return g.Shutdown(ctx)
}

// Shutdown is Close with the deadline of ctx instead of FetchTimeout, for a program that closes
// several things by one deadline.
func (g *Generator) Shutdown(ctx context.Context) error {
	g.closeOnce.Do(func() { g.closeErr = g.close(ctx) })
	return g.closeErr
}

// close is Close without the guard against a second call. The order matters: closed ends the making
// of tags, stop ends the goroutines' ctx, and end takes each tag's rest away from its callers. Only
// when the goroutines have ended is the rest final, because a range that was on its way is added to
// it. A fetch that is cancelled may have moved the counter already, so one whose range can be given
// back is given time.
func (g *Generator) close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true // no tag is added after this, so all returns every tag
	g.mu.Unlock()
	g.stop()
	tags := g.all()
	for _, t := range tags {
		t.end(ErrClosed)
	}
	returner, ok := g.src.(Returner)
	ok = ok && g.opts.Checkpoint
	if ok {
		wait, cancel := half(ctx)
		defer cancel()
		defer context.AfterFunc(wait, g.abort)()
	} else {
		g.abort()
	}
	g.running.Wait() // a range that arrives meanwhile is given back too
	g.abort()
	// From here on no goroutine and no caller changes a tag's rest.
	if !ok {
		return nil
	}
	return giveAllBack(ctx, tags, returner)
}

// half returns a ctx that ends with ctx, or when half of its time is over.
func half(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2)
}

// The most calls of Return at a time, and the most of their errors that are kept.
const (
	maxReturns = 16
	maxErrors  = 3
)

// giveAllBack gives back what the tags have left, over several connections at once: a commit each
// takes long where there are many tags. It stops when ctx ends.
func giveAllBack(ctx context.Context, tags []*Tag, returner Returner) error {
	tags = slices.DeleteFunc(tags, func(t *Tag) bool { return len(t.rest) == 0 })
	var (
		mu     sync.Mutex // guards what follows
		failed int
		errs   []error
	)
	left := each(ctx, maxReturns, tags, func(t *Tag) {
		err := t.giveBack(ctx, returner)
		if err == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if failed++; failed <= maxErrors {
			errs = append(errs, fmt.Errorf("segment: tag %.128q: %w", t.name, err))
		}
	})
	if failed > maxErrors {
		errs = append(errs, fmt.Errorf("segment: and the same or another error of %d more tags",
			failed-maxErrors))
	}
	if left > 0 {
		errs = append(errs, fmt.Errorf("segment: the time for giving back is over; "+
			"nothing of %d more tags was given back", left))
	}
	return errors.Join(errs...)
}

// each calls f for each tag, at most so many at a time. It calls f for no further tag after ctx has
// ended, waits for the calls under way and returns how many tags are left.
func each(ctx context.Context, most int, tags []*Tag, f func(*Tag)) (left int) {
	var (
		taken   atomic.Int64 // tags, and at the end also workers that found none
		workers sync.WaitGroup
	)
	for range min(most, len(tags)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(taken.Add(1)) - 1
				if i >= len(tags) {
					return
				}
				f(tags[i])
			}
		})
	}
	workers.Wait()
	return max(len(tags)-int(taken.Load()), 0)
}

// giveBack returns the ids that the tag had left when it ended. The newest range goes first,
// because the source takes back only the end of its newest range. The first that is not taken ends
// it: the older ones cannot be the newest any more. No goroutine of the tag runs, so it takes no
// lock.
func (t *Tag) giveBack(ctx context.Context, returner Returner) error {
	for _, r := range t.rest {
		if ok, err := returner.Return(ctx, t.name, r); err != nil || !ok {
			return err
		}
	}
	return nil
}

// logger returns the logger for a line about the tag. It is silent if a line of this kind was
// logged within the last second.
func (t *Tag) logger(l *loglimit.Limit) *slog.Logger {
	return l.Logger(t.g.opts.Logger.With("tag", fmt.Sprintf("%.128s", t.name)))
}

// all returns all tags, sorted by name. It takes no lock of the Generator: tags that are added
// meanwhile may be missing, unless the Generator is closed.
func (g *Generator) all() []*Tag {
	var tags []*Tag
	for _, v := range g.tags.Range {
		t, _ := v.(*Tag)
		tags = append(tags, t)
	}
	slices.SortFunc(tags, func(a, b *Tag) int { return strings.Compare(a.name, b.name) })
	return tags
}
