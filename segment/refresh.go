package segment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/loglimit"
)

// Refresh lists the source's tags. Calls for tags that are gone fail with ErrUnknownTag, changed
// steps take effect, and with Listed new tags are added. A tag that failed with a lasting error is
// fetched again, unless the list shows that its counter went back and was not raised. A Generator
// calls Refresh by itself every Options.Refresh. A program calls it to make a change of the table
// take effect at once.
//
// A Finder is asked about each tag in use that is not in the list. If the source is not a Lister,
// Refresh only retries the tags that failed. A Checker is asked whether it is still fit for use,
// such as a set of ticket servers of which one went back while the others serve its tags. Its
// answer is Stats.ListErr, and changes nothing else.
//
// Refresh blocks until the source has answered or ctx ends; it does not wait for the fetches that
// it starts. No tag counts as gone while the source does not answer. It may be called concurrently
// with everything else, itself included: two lists may arrive in the wrong order, and the next one
// corrects that. Errors are ErrClosed and those of the source.
func (g *Generator) Refresh(ctx context.Context) error {
	g.unknown.forget()
	tags := g.all() // read before the list, so that a newer tag does not count as gone
	err := g.open()
	if err != nil {
		return err
	}
	if lister, ok := g.src.(Lister); ok {
		var rows map[string]Row
		if rows, err = g.list(ctx, lister); err == nil {
			err = g.compare(ctx, tags, rows)
		}
	} else {
		for _, t := range tags {
			t.refresh(nil)
		}
	}
	if c, ok := g.src.(Checker); ok && err == nil {
		if err = c.Check(ctx); err != nil {
			err = fmt.Errorf("segment: check the source: %w", err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listErr = err
	return err
}

// list returns the source's rows by tag. With Listed it adds the new tags, but for the counters of
// periods, and fetches their first ranges in the background. mu is not held while the source is
// asked.
func (g *Generator) list(ctx context.Context, lister Lister) (map[string]Row, error) {
	list, err := lister.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("segment: list the tags: %w", err)
	}
	names, err := g.numbers(ctx, list)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refreshed, g.rows = time.Now(), list
	rows := make(map[string]Row, len(list))
	var added []*Tag
	for _, r := range list {
		rows[r.Tag] = r
		if g.opts.Listed && !g.closed && g.find(r.Tag) == nil && !countsPeriod(r.Tag, names) {
			added = append(added, g.add(r.Tag))
		}
	}
	if len(added) > 0 { // not after Close, which waits for what was started before
		g.spawn(func(ctx context.Context) {
			// A few at a time, because each takes a connection to the database. A call for a tag
			// whose turn has not come starts the fetch itself. A tag keeps its error and reports it
			// to its callers.
			each(ctx, maxFirsts, added, func(t *Tag) { _, _ = t.wait(ctx, 0) })
		})
	}
	return rows, nil
}

// numbers returns the names of the source's periods, if tags are added that may be their counters.
// Those are added by Begin alone: the counters of all past days would fill the memory, and each
// process would use up a range of every one.
func (g *Generator) numbers(ctx context.Context, list []Row) (map[string]bool, error) {
	src, ok := g.src.(Periods)
	may := func(r Row) bool { return strings.Contains(r.Tag, "@") }
	if !ok || !g.opts.Listed || !slices.ContainsFunc(list, may) {
		return nil, nil //nolint:nilnil // there are none
	}
	all, err := src.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("segment: list the numbers: %w", err)
	}
	names := make(map[string]bool, len(all))
	for _, n := range all {
		names[n.Name] = true
	}
	return names, nil
}

// countsPeriod reports whether a tag is the counter of a period of one of names.
func countsPeriod(tag string, names map[string]bool) bool {
	name, rest, _ := strings.Cut(tag, "@")
	number, _, _ := strings.Cut(rest, "@")
	return names[name] && number != "" && strings.Trim(number, "0123456789") == ""
}

// compare gives each tag its row. A tag that is not in the list is looked up before it counts as
// gone. A tag that is gone already is not looked up: the next call for it does that, or a later
// list has it. The first error ends it, and the tags after it wait for the next refresh.
func (g *Generator) compare(ctx context.Context, tags []*Tag, rows map[string]Row) error {
	for _, t := range tags {
		r, ok := rows[t.name]
		if !ok && !t.lost() {
			var err error
			if r, err = g.lookAt(ctx, t.name); errors.Is(err, ErrUnknownTag) {
				t.mu.Lock()
				t.lose(fmt.Errorf("segment: tag %.128q: %w", t.name, err))
				t.mu.Unlock()
				t.logger(&g.gone).Info("segment: tag is gone")
				continue
			} else if err != nil {
				return fmt.Errorf("segment: find tag %.128q: %w", t.name, err)
			}
			ok = true
		}
		if ok {
			t.refresh(&r)
		}
	}
	return nil
}

// lookAt asks the source for the row of a tag that it has not listed. Without a Finder the list
// decides.
func (g *Generator) lookAt(ctx context.Context, name string) (Row, error) {
	if f, ok := g.src.(Finder); ok {
		return f.Find(ctx, name)
	}
	return Row{}, fmt.Errorf("%w: it is not in the source's list any more", ErrUnknownTag)
}

// lost reports whether the source had lost the tag when it was last asked.
func (t *Tag) lost() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.gone
}

// refresh applies the tag's row, which is nil if the source is not a Lister. It starts a fetch if
// the tag has failed. A row that was edited to a step below 1 fails the tag, like a first fetch
// from such a row: later fetches name a step of their own and would not notice it.
func (t *Tag) refresh(r *Row) {
	if err := t.apply(r); err != nil { // logged without mu
		t.logger(&t.g.failed).Warn("segment: row is invalid", "error", err)
	}
}

// apply is refresh. It returns the error that the tag fails with from now on because of its row.
func (t *Tag) apply(r *Row) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case r != nil && r.Step > 0:
		t.pace.setBase(r.Step)
	case r != nil && t.pace.known:
		return t.invalid(r)
	}
	// A fetch would move the counter, so one that went back is not fetched from until it is raised.
	// A row shows the counter of origin 0, and other origins have no rows.
	o := t.guard.origins[0]
	raised := r == nil || !o.back || r.Next >= o.floor()
	switch {
	case t.failed == nil || !raised:
	case t.ready.Len() > 0: // only a row with a bad step fails a tag that has a next range
		t.failed, t.lastErr = nil, nil
		t.startLoad()
	default:
		t.forceLoad()
	}
	return nil
}

// invalid fails the tag because of its row's step, unless it has failed. Ids that are left are
// handed out. The caller holds mu.
func (t *Tag) invalid(r *Row) error {
	if t.failed != nil || t.gone || t.ended != nil {
		return nil //nolint:nilerr // the tag has failed, and nothing is new
	}
	err := fmt.Errorf("%w: the row's step is %d, want 1 or more", ErrBadRange, r.Step)
	t.failed = fmt.Errorf("segment: tag %.128q: no further range: %w", t.name, err)
	t.lastErr = err
	t.serve()
	return err
}

// refreshLoop refreshes until ctx ends. It logs the first of several failures in a row, at most one
// a second. Each interval begins when the refresh before it is over, so a source that is slow is
// not asked more often than it answers.
func (g *Generator) refreshLoop(ctx context.Context) {
	var limit loglimit.Limit
	for failed := false; backoff.Wait(ctx, g.opts.Refresh); {
		one, cancel := context.WithTimeout(ctx, g.opts.FetchTimeout)
		err := g.Refresh(one)
		cancel()
		if err != nil && !failed && ctx.Err() == nil {
			limit.Logger(g.opts.Logger).Warn("segment: list failed", "error", err)
		}
		failed = err != nil
	}
}
