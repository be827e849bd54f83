package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/cpu"
)

// Generator hands out ids from a Source's ranges, two of which it holds per tag. New starts a goroutine that lists the tags
// now and then, and each fetch is a goroutine of its own, one per tag at a time; Close ends and awaits them. All
// methods are safe for concurrent use.
//
// No id is handed out twice, by whatever number of Generators on sources over the same tables. With Options.Ordered the ids of
// one tag rise within a Generator. Otherwise, and over several Generators, each of which counts through a range of its own,
// they only tend to.
type Generator struct {
	dir  directory // changed under mu
	src  Source
	opts Options
	_    cpu.CacheLinePad

	guard guard

	mu        sync.Mutex
	closed    bool
	pending   map[string]*Tag // tags whose first fetch is under way
	refreshed time.Time       // when the source was last listed
	listErr   error           // of the last listing

	loads     sync.WaitGroup // load goroutines and the refresher
	stop      func()         // ends the refresher
	closeOnce sync.Once
	closeErr  error
}

// New returns a Generator over src. It asks a Checker whether it is fit for use and, with Listed, fetches ranges for all
// tags; it fails if the source is away.
func New(ctx context.Context, src Source, opts *Options) (*Generator, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if src == nil {
		return nil, fmt.Errorf("%w: the source is nil", ErrOptions)
	}
	lister, isLister := src.(Lister)
	if o.Listed && !isLister {
		return nil, fmt.Errorf("%w: Listed is set, but the source %T has no List", ErrOptions, src)
	}
	if c, ok := src.(Checker); ok {
		if err := c.Check(ctx); err != nil {
			return nil, err
		}
	}
	g := &Generator{src: src, opts: o, pending: make(map[string]*Tag)}
	run, stop := context.WithCancel(context.Background())
	g.stop = stop
	if o.Listed {
		if err := g.loadAll(ctx, lister); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	if isLister && o.Refresh > 0 {
		g.loads.Go(func() { g.refreshLoop(run) })
	}
	return g, nil
}

// Next returns an id of tag that no other call ever returns. It is Tag.Next after a look-up of the tag, which the first call
// with a tag fetches for. A tag that the source does not have is ErrUnknownTag.
func (g *Generator) Next(ctx context.Context, tag string) (int64, error) {
	// A look-up and Tag.Next, written out: each call would cost a tenth of the whole.
	if t := g.dir.near[slot(tag)].Load(); t != nil && same(t.name, tag) {
		b := t.cur.Load()
		l := b.lane()
		if w := l.word.Add(b.add); w >= 0 {
			return b.id(w), nil
		}
		return t.nextSlow(ctx, b, l)
	}
	return g.nextFound(ctx, tag)
}

// nextFound is Next for a tag that is not in the directory's table.
func (g *Generator) nextFound(ctx context.Context, tag string) (int64, error) {
	if t := g.dir.find(tag); t != nil {
		return t.Next(ctx)
	}
	t, err := g.Tag(ctx, tag)
	if err != nil {
		return 0, err
	}
	return t.Next(ctx)
}

// Fill sets every element of ids to an id of tag of its own and returns how many it set: len(ids), or fewer together with
// the error that stopped it.
func (g *Generator) Fill(ctx context.Context, tag string, ids []int64) (int, error) {
	t, err := g.Tag(ctx, tag)
	if err != nil {
		return 0, err
	}
	return t.Fill(ctx, ids)
}

// Tag returns the handle of a tag, after waiting for its first range if need be. A tag that the source does not have is
// ErrUnknownTag.
func (g *Generator) Tag(ctx context.Context, tag string) (*Tag, error) {
	for {
		t, err := g.open(tag)
		if err != nil {
			return nil, err
		}
		b := t.cur.Load()
		if b.len > 0 {
			return t, nil
		}
		if err = t.await(ctx, b); err == nil {
			return t, nil
		}
		if !errors.Is(err, errAbandoned) {
			return nil, err
		}
	}
}

// open returns the tag that is in use, or one whose first fetch is under way.
func (g *Generator) open(name string) (*Tag, error) {
	if t := g.dir.find(name); t != nil {
		return t, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if t := g.dir.find(name); t != nil {
		return t, nil
	}
	if t := g.pending[name]; t != nil {
		return t, nil
	}
	if g.opts.Listed {
		return nil, fmt.Errorf("%w: %q is not in the source's list", ErrUnknownTag, name)
	}
	return g.add(name), nil
}

// add makes a tag and starts its first fetch. The caller holds mu.
func (g *Generator) add(name string) *Tag {
	t := newTag(g, name)
	g.pending[name] = t
	t.mu.Lock()
	t.startLoad()
	t.mu.Unlock()
	return t
}

// publish moves a tag from the pending ones to the directory.
func (g *Generator) publish(t *Tag) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending[t.name] == t {
		delete(g.pending, t.name)
		g.dir.add(t)
	}
}

// drop ends a tag with err and forgets it, in this order: a Close that no longer finds the tag has nothing left to end.
func (g *Generator) drop(t *Tag, err error) {
	t.end(err)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed { // Close needs the tag for its checkpoint
		return
	}
	if g.pending[t.name] == t {
		delete(g.pending, t.name)
	}
	g.dir.remove(t)
}

// Close stops the Generator: no id is handed out from here on, and calls, those that wait included, fail with ErrClosed. It
// waits for its goroutines, whose fetches are cancelled. With Checkpoint it then gives the unused ids back, tag by tag, and
// stops at the first tag for which the source takes longer than FetchTimeout; an error says what could not be given back,
// which leaves a gap and no more. Closing twice does nothing.
func (g *Generator) Close() error {
	g.closeOnce.Do(func() { g.closeErr = g.close() })
	return g.closeErr
}

func (g *Generator) close() error {
	g.mu.Lock()
	g.closed = true
	tags := g.all()
	g.mu.Unlock()
	g.stop()
	for _, t := range tags {
		t.end(ErrClosed)
	}
	g.loads.Wait()
	returner, ok := g.src.(Returner)
	if !ok || !g.opts.Checkpoint {
		return nil
	}
	var errs []error
	for i, t := range tags {
		err := g.giveBack(returner, t)
		errs = append(errs, err)
		if left := len(tags) - i - 1; errors.Is(err, context.DeadlineExceeded) && left > 0 { // each of them would wait as long
			errs = append(errs, fmt.Errorf("segment: the source does not answer; nothing of %d more tags was given back", left))
			break
		}
	}
	return errors.Join(errs...)
}

// giveBack returns what is left of t's buffers, the higher one first: the source takes back the end of the newest range
// only.
func (g *Generator) giveBack(returner Returner, t *Tag) error {
	if errors.Is(t.ended, ErrUnknownTag) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), g.opts.FetchTimeout)
	defer cancel()
	for _, r := range t.rest {
		ok, err := returner.Return(ctx, t.name, r)
		if err != nil || !ok {
			return err
		}
	}
	return nil
}

// all returns all tags, sorted by name. The caller holds mu.
func (g *Generator) all() []*Tag {
	var tags []*Tag
	for _, t := range g.dir.tags() {
		tags = append(tags, t)
	}
	for _, t := range g.pending {
		tags = append(tags, t)
	}
	slices.SortFunc(tags, func(a, b *Tag) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return tags
}
