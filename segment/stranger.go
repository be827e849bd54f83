package segment

import (
	"context"
	"strings"
	"sync"
	"time"
)

// Names may come from strangers, who can make up any number of them. This file bounds what unknown
// names cost: such a name is remembered for a second and then leaves nothing in memory, and the
// source is asked for only a few new names at a time, so that tags in use still get their ranges.

const (
	// How long a name that the source did not know counts as unknown. A tag that is added is found
	// within a second, and a name that is asked for all the time costs one question a second.
	unknownFor = time.Second
	// The most such names that are remembered, which bounds the memory that strangers can use.
	maxUnknown = 1000
	// The most tags that fetch their first range at a time. The rest of the source's connections is
	// left to tags in use.
	maxFirsts = 8
)

// unknown remembers names that the source did not know. The zero value is ready to use. Its methods
// are safe for concurrent use.
type unknown struct {
	mu    sync.Mutex // a leaf: its holder neither waits nor takes another lock
	until map[string]time.Time
}

// add records that the source did not know name at now. When there are too many names it forgets
// all of them: the source is then asked once more for each, eight at a time. It keeps a copy of
// name, which may be a part of a long request.
func (u *unknown) add(name string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.until == nil || len(u.until) >= maxUnknown {
		u.until = make(map[string]time.Time)
	}
	u.until[strings.Clone(name)] = now.Add(unknownFor)
}

// has reports whether, at now, name still counts as unknown.
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

// known forgets a name that the source has now.
func (u *unknown) known(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.until, name)
}

// forget forgets all names, so that the next call for each asks the source.
func (u *unknown) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until = nil
}

// enter waits until the tag may ask the source. The caller must call leave when the source has
// answered. Only a tag that never had a range has to wait. If ctx ends first, or no caller waits
// for the tag any more, enter ends the load and returns false; in the latter case it also drops
// the tag.
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

// drop removes the tag, which never had a range, from the Generator. The caller holds mu. The
// compare-and-delete leaves a newer tag of the name alone. Callers that have looked the dropped tag
// up find dropped under mu and look again.
func (t *Tag) drop() {
	t.dropped = true
	t.g.tags.CompareAndDelete(t.name, t)
}
