package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Generator hands out ids from a Source's ranges, two of which it holds per tag. New starts a
// goroutine that refreshes the tags now and then, and each fetch is a goroutine of its own, one per
// tag at a time; Close ends and awaits them. All methods are safe for concurrent use.
//
// No id is handed out twice, by any number of Generators on sources over the same tables. The ids
// of a tag rise within a Generator if the source's ranges do. Over several Generators, each of
// which counts through a range of its own, they only tend to.
type Generator struct {
	// tags finds a tag by its name: string -> *Tag. Tags are added under mu. A tag that never had a
	// range removes itself, and no other tag is ever removed.
	tags sync.Map

	// Read-only after New.
	src   Source
	opts  Options
	spawn func(f func(context.Context)) // runs f in a goroutine, whose ctx stop ends
	stop  func()

	// What strangers, who make names up, may cost; see stranger.go.
	unknown unknown
	firsts  chan struct{} // has a token for each first fetch under way

	// mu comes before any Tag.mu. Nobody waits or does I/O while holding it.
	mu        sync.Mutex
	closed    bool
	refreshed time.Time // when the source was last listed
	rows      []Row     // what it listed then; read-only
	listErr   error     // of the last listing

	running   sync.WaitGroup // the goroutines of spawn
	closeOnce sync.Once
	closeErr  error // guarded by closeOnce
}

// New returns a Generator over src. It asks a Checker whether it is fit for use and, with Listed,
// fetches ranges for all tags; it fails if the source is away.
func New(ctx context.Context, src Source, opts *Options) (*Generator, error) {
	o, err := opts.withDefaults()
	lister, isLister := src.(Lister)
	switch {
	case err != nil:
		return nil, fmt.Errorf("segment: %w", err)
	case src == nil:
		return nil, fmt.Errorf("segment: %w: src is nil", ErrOptions)
	case o.Listed && !isLister:
		return nil, fmt.Errorf("segment: %w: Listed is set, and %T has no List", ErrOptions, src)
	}
	if c, ok := src.(Checker); ok {
		if err := c.Check(ctx); err != nil {
			return nil, fmt.Errorf("segment: check the source: %w", err)
		}
	}
	g := &Generator{src: src, opts: o, firsts: make(chan struct{}, maxFirsts)}
	run, stop := context.WithCancel(context.Background())
	g.stop = stop
	g.spawn = func(f func(context.Context)) { g.running.Go(func() { f(run) }) }
	if o.Listed {
		if err := g.loadAll(ctx, lister); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	if o.Refresh > 0 {
		g.spawn(g.refreshLoop)
	}
	return g, nil
}

// Next returns an id of tag that no other call ever returns: it is Tag.Next after a look-up in a
// map. The first call with a tag waits for the tag's first range.
func (g *Generator) Next(ctx context.Context, tag string) (int64, error) {
	for { // once, unless the tag is dropped meanwhile
		t, err := g.lookUp(tag)
		if err != nil {
			return 0, err
		}
		if id, err := t.Next(ctx); err != errDropped {
			return id, err
		}
	}
}

// Fill sets every element of ids to an id of tag of its own and returns how many it set: len(ids),
// or fewer together with the error that stopped it. It is Tag.Fill after a look-up.
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

// Tag returns the handle of a tag, after waiting for its first range if need be. A tag that the
// source does not have is ErrUnknownTag.
func (g *Generator) Tag(ctx context.Context, tag string) (*Tag, error) {
	for {
		t, err := g.lookUp(tag)
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

// lookUp returns the tag of that name, which it makes if there is none.
func (g *Generator) lookUp(name string) (*Tag, error) {
	if t := g.find(name); t != nil {
		return t, nil
	}
	if g.unknown.has(name, time.Now()) {
		return nil, fmt.Errorf("segment: tag %q: %w", name, ErrUnknownTag)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	if g.opts.Listed {
		return nil, errUnlisted(name)
	}
	return g.add(name), nil
}

// find returns the tag of that name, or nil.
func (g *Generator) find(name string) *Tag {
	v, _ := g.tags.Load(name)
	t, _ := v.(*Tag)
	return t
}

// add returns the tag of that name. If there is none it makes one, and starts its first fetch. The
// caller holds mu.
func (g *Generator) add(name string) *Tag {
	t := g.find(name)
	if t == nil {
		t = newTag(g, strings.Clone(name)) // name may be part of a long request
		g.tags.Store(t.name, t)
		t.prefetch()
	}
	return t
}

// Close stops the Generator: no id is handed out from here on, and calls, those that wait included,
// fail with ErrClosed. It waits for its goroutines, whose fetches are cancelled. With Checkpoint it
// then gives the unused ids back, for FetchTimeout at most; an error says what could not be given
// back, which leaves a gap and no more. Closing twice does nothing.
func (g *Generator) Close() error {
	g.closeOnce.Do(func() { g.closeErr = g.close() })
	return g.closeErr
}

func (g *Generator) close() error {
	g.mu.Lock()
	g.closed = true // from here on no tag is added, and all returns every one
	g.mu.Unlock()
	g.stop()
	tags := g.all()
	for _, t := range tags {
		t.end(ErrClosed)
	}
	g.running.Wait() // a range that arrives meanwhile is among what its tag gives back
	returner, ok := g.src.(Returner)
	if !ok || !g.opts.Checkpoint {
		return nil
	}
	// One deadline for all tags: a source that hangs would otherwise hold Close up once for each.
	ctx, cancel := context.WithTimeout(context.Background(), g.opts.FetchTimeout)
	defer cancel()
	var errs []error
	for i, t := range tags {
		if err := t.giveBack(ctx, returner); err != nil {
			errs = append(errs, fmt.Errorf("segment: tag %q: %w", t.name, err))
		}
		if left := len(tags) - i - 1; ctx.Err() != nil && left > 0 {
			errs = append(errs, fmt.Errorf("segment: giving back took longer than %v; "+
				"nothing of %d more tags was given back", g.opts.FetchTimeout, left))
			break
		}
	}
	return errors.Join(errs...)
}

// giveBack returns what the tag had left when it ended, the newest range first: the source takes
// back the end of the newest range only.
func (t *Tag) giveBack(ctx context.Context, returner Returner) error {
	for _, r := range t.rest {
		if ok, err := returner.Return(ctx, t.name, r); err != nil || !ok {
			return err
		}
	}
	return nil
}

// all returns all tags, sorted by name.
func (g *Generator) all() []*Tag {
	var tags []*Tag
	for _, v := range g.tags.Range {
		t, _ := v.(*Tag)
		tags = append(tags, t)
	}
	slices.SortFunc(tags, func(a, b *Tag) int { return strings.Compare(a.name, b.name) })
	return tags
}
