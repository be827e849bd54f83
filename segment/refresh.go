package segment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Refresh lists the source's tags: tags that are gone end with ErrUnknownTag, changed steps take effect, and with Listed new
// tags come. A Generator does this by itself every Options.Refresh; whoever changed the table and does not want to wait
// calls it. With a source that is not a Lister it does nothing. A Finder is asked about each tag in use that is not in the
// list. It blocks until the source has answered or ctx ends; while it does not answer no tag is taken for gone.
func (g *Generator) Refresh(ctx context.Context) error {
	lister, ok := g.src.(Lister)
	if !ok {
		return nil
	}
	g.mu.Lock()
	known := g.all() // before the list, so that a tag that is born while it is read is not taken for one that is gone
	closed := g.closed
	g.mu.Unlock()
	if closed {
		return ErrClosed
	}
	rows, err := lister.List(ctx)
	g.mu.Lock()
	g.listErr = err
	if err == nil {
		g.refreshed = time.Now()
	}
	g.mu.Unlock()
	if err != nil {
		return err
	}
	g.addListed(rows)
	if err := g.compare(ctx, known, rows); err != nil {
		g.mu.Lock()
		g.listErr = err
		g.mu.Unlock()
		return err
	}
	return nil
}

// compare drops the tags that are gone and notes the steps of the others.
func (g *Generator) compare(ctx context.Context, known []*Tag, rows []Row) error {
	listed := make(map[string]Row, len(rows))
	for _, r := range rows {
		listed[r.Tag] = r
	}
	for _, t := range known {
		r, ok := listed[t.name]
		if !ok {
			var err error
			if r, err = g.find(ctx, t.name); errors.Is(err, ErrUnknownTag) {
				g.opts.Logger.Info("segment: tag is gone", "tag", t.name)
				g.drop(t, err)
				continue
			} else if err != nil {
				return err
			}
		}
		t.setBase(r.Step)
	}
	return nil
}

// find looks up a tag that the source has not listed.
func (g *Generator) find(ctx context.Context, name string) (Row, error) {
	if f, ok := g.src.(Finder); ok {
		return f.Find(ctx, name)
	}
	return Row{}, fmt.Errorf("%w: %q is not in the source's list any more", ErrUnknownTag, name)
}

// addListed starts the tags that are new in the list.
func (g *Generator) addListed(rows []Row) {
	if !g.opts.Listed {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range rows {
		if !g.closed && g.dir.find(r.Tag) == nil && g.pending[r.Tag] == nil {
			g.add(r.Tag)
		}
	}
}

// refreshLoop refreshes until ctx ends.
func (g *Generator) refreshLoop(ctx context.Context) {
	for failed := false; pause(ctx, g.opts.Refresh); {
		one, cancel := context.WithTimeout(ctx, g.opts.FetchTimeout)
		err := g.Refresh(one)
		cancel()
		if err != nil && !failed && ctx.Err() == nil {
			g.opts.Logger.Warn("segment: list failed", "error", err)
		}
		failed = err != nil
	}
}

// loadAll fetches the first range of every tag in the list, a few tags at a time. A tag that cannot have one, such as one
// that is exhausted, does not keep the others from working: it reports its failure when it is asked for.
func (g *Generator) loadAll(ctx context.Context, lister Lister) error {
	rows, err := lister.List(ctx)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.refreshed = time.Now()
	g.mu.Unlock()

	const workers = 8
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	names := make(chan string)
	for range min(workers, len(rows)) {
		wg.Go(func() {
			for name := range names {
				if err := g.loadFirst(ctx, name); err != nil && !isPermanent(err) {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, r := range rows {
		names <- r.Tag
	}
	close(names)
	wg.Wait()
	return errors.Join(errs...)
}

// loadFirst starts a tag, unless the list has it twice and it is started, and waits for its first range.
func (g *Generator) loadFirst(ctx context.Context, name string) error {
	g.mu.Lock()
	t := g.dir.find(name)
	if t == nil {
		t = g.pending[name]
	}
	if t == nil {
		t = g.add(name)
	}
	g.mu.Unlock()
	return t.await(ctx, t.first())
}

// first returns the buffer of no ids that a new tag begins with, or nil if a range has arrived since.
func (t *Tag) first() *buffer {
	if b := t.cur.Load(); b.len == 0 {
		return b
	}
	return nil
}
