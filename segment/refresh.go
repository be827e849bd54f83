package segment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Refresh lists the source's tags: tags that are gone end with ErrUnknownTag, changed steps take effect, and with Listed new
// tags come. A Generator does this by itself every Options.Refresh; whoever changed the table and does not want to wait
// calls it. With a source that is not a Lister it does nothing. It blocks until the source has answered or ctx ends.
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
		return err // and no tag is taken for gone
	}
	g.apply(known, rows)
	return nil
}

// apply compares the tags with the list.
func (g *Generator) apply(known []*Tag, rows []Row) {
	listed := make(map[string]Row, len(rows))
	for _, r := range rows {
		listed[r.Tag] = r
		// A database whose collation takes Order for order lists one of them and serves both.
		if folded := fold(r.Tag); folded != r.Tag {
			if _, exact := listed[folded]; !exact {
				listed[folded] = r
			}
		}
	}
	for _, t := range known {
		r, ok := listed[t.name]
		if !ok {
			r, ok = listed[fold(t.name)]
		}
		if ok {
			t.setBase(r.Step)
			continue
		}
		g.opts.Logger.Info("segment: tag is gone", "tag", t.name)
		g.drop(t, fmt.Errorf("%w: %q is not in the source's list any more", ErrUnknownTag, t.name))
	}
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

// fold returns what a database may hold a name equal to.
func fold(name string) string { return strings.ToLower(strings.TrimRight(name, " ")) }

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

// loadFirst starts a tag, unless the list has it twice and it is started, and waits for its first range. It begins anew when the
// fetch failed before it came to wait: only the source's answer or the end of ctx decides.
func (g *Generator) loadFirst(ctx context.Context, name string) error {
	for {
		g.mu.Lock()
		t := g.dir.find(name)
		if t == nil {
			t = g.pending[name]
		}
		if t == nil {
			t = g.add(name)
		}
		g.mu.Unlock()
		if err := t.await(ctx, t.first()); !errors.Is(err, errAbandoned) {
			return err
		}
	}
}

// first returns the buffer of no ids that a new tag begins with, or nil if a range has arrived since.
func (t *Tag) first() *buffer {
	if b := t.cur.Load(); b.len == 0 {
		return b
	}
	return nil
}
