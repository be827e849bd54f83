package segment

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Names may come from strangers, who make up as many as they like. A name that the source does not
// know leaves nothing behind but, for a second, itself; and however many names come up, the source
// is asked about a few at a time, so that tags in use go on to get their ranges.

const (
	unknownFor = time.Second // how long a name that the source did not know counts as unknown
	maxUnknown = 1000        // how many such names are remembered
	maxFirsts  = 8           // how many tags may fetch their first range at a time
)

// unknown remembers names that the source did not know. The zero value is ready to use.
type unknown struct {
	mu    sync.Mutex // nothing else is locked or waited for while it is held
	until map[string]time.Time
}

// add notes that the source does not know the name at now.
func (u *unknown) add(name string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.until == nil || len(u.until) >= maxUnknown {
		u.until = make(map[string]time.Time)
	}
	u.until[strings.Clone(name)] = now.Add(unknownFor)
}

// has reports whether the source did not know the name a moment ago.
func (u *unknown) has(name string, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	until, ok := u.until[name]
	if ok && !now.Before(until) {
		delete(u.until, name)
		ok = false
	}
	return ok
}

// forget forgets all names.
func (u *unknown) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until = nil
}

// enter waits until the tag may ask the source, and returns what ends its turn. Only a tag without
// a range has to wait. A tag that nobody waits for any more when its turn comes is dropped, and
// enter returns false, as it does when ctx ends.
func (t *Tag) enter(ctx context.Context) (leave func(), ok bool) {
	t.mu.Lock()
	first := t.fetches == 0 && !t.g.opts.Listed
	t.mu.Unlock()
	if !first {
		return func() {}, true
	}
	leave = func() { <-t.g.firsts }
	select {
	case t.g.firsts <- struct{}{}:
		return leave, true
	default:
	}
	select {
	case t.g.firsts <- struct{}{}:
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		t.loading = false
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queue.Len() > 0 {
		return leave, true
	}
	leave()
	t.loading = false
	t.drop()
	return nil, false
}

// drop has the Generator forget the tag, which never had a range. The caller holds mu.
func (t *Tag) drop() {
	t.dropped = true
	t.g.tags.CompareAndDelete(t.name, t)
}
