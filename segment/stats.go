package segment

import "time"

// Stats is a snapshot of a Generator.
type Stats struct {
	Tags      []TagStats // in the order of Tag; without those that the source has lost
	Refreshed time.Time  // when the source's tags were last listed; zero: never
	ListErr   error      // of the last listing; nil when it went well
}

// TagStats is a snapshot of a tag. Its figures come from words that exist anyway: Next counts
// nothing.
type TagStats struct {
	Tag     string
	Current Range // the range in use; empty before the first one arrived
	Used    int64 // how many ids of Current are handed out
	Ready   Range // the next range; empty while there is none
	Left    int64 // ids that can be handed out without the source
	Issued  int64 // ids handed out so far

	Step      int64     // what was asked for last, or would be; 0: not known yet
	BaseStep  int64     // the source's own step; 0: not known yet
	LastFetch time.Time // when the last range arrived; zero: never
	Loading   bool      // a fetch is under way

	Fetches  int64 // ranges that arrived
	Failures int64 // fetches that failed
	Waits    int64 // times that a caller had to wait for a range
	Waiting  int   // callers that wait now

	Err error // why the last fetch failed, or why there will be no further one; nil when all is well
}

// Stats returns a snapshot of all tags. It takes locks, one tag at a time, that Next takes only
// when a range is used up or the next one is due.
func (g *Generator) Stats() Stats {
	g.mu.Lock()
	s := Stats{Refreshed: g.refreshed, ListErr: g.listErr}
	g.mu.Unlock()
	for _, t := range g.all() {
		if one, gone := t.stats(); !gone {
			s.Tags = append(s.Tags, one)
		}
	}
	return s
}

// Unused returns the tags that the source had when it was last listed and that no call has asked the
// Generator for, in the order of Tag. It is empty before the first listing, which comes with Listed
// at once, else after Options.Refresh, and for a source that is not a Lister.
func (g *Generator) Unused() []Row {
	g.mu.Lock()
	rows := g.rows
	g.mu.Unlock()
	var unused []Row
	for _, r := range rows {
		if g.find(r.Tag) == nil {
			unused = append(unused, r)
		}
	}
	return unused
}

// Stats returns a snapshot of the tag.
func (t *Tag) Stats() TagStats {
	s, _ := t.stats()
	return s
}

// stats returns a snapshot, and whether the source has lost the tag. Callers go on to take ids
// meanwhile: Used and Left fit each other, and may be outdated when they are read.
func (t *Tag) stats() (TagStats, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.cur.Load()
	left := b.free() + t.reserved
	s := TagStats{
		Tag: t.name, Current: b.r, Used: b.len - left, Ready: t.ready, Left: left + t.ready.Len(),
		Issued: t.issued + b.len - left,
		Step:   t.pace.step, BaseStep: t.pace.base, LastFetch: t.pace.last, Loading: t.loading,
		Fetches: t.fetches, Failures: t.failures, Waits: t.waits, Waiting: t.queue.Len(), Err: t.lastErr,
	}
	switch {
	case t.ended != nil:
		s.Err = t.ended
	case t.failed != nil:
		s.Err = t.failed
	}
	return s, t.gone
}
