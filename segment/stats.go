package segment

import "time"

// Stats is a snapshot of a Generator. Its tags are looked at one after the other, so they are of
// slightly different moments.
type Stats struct {
	Tags      []TagStats // sorted by Tag; see Generator.Stats
	Refreshed time.Time  // when the source's tags were last listed; zero: never
	ListErr   error      // of the last refresh, which lists and checks; nil after a success
}

// TagStats is a snapshot of a tag. Next keeps no counters for it: the figures are derived from the
// words that hand out ids.
type TagStats struct {
	Tag     string
	Current Range // the range in use; empty before the first one arrives
	Used    int64 // ids of Current that are handed out
	Ready   Range // the next range; empty if there is none
	Left    int64 // ids that can be handed out without the source
	Issued  int64 // ids handed out so far

	Step      int64     // the adapted step; 0: not known yet
	BaseStep  int64     // the source's own step; 0: not known yet
	LastFetch time.Time // when the last range arrived; zero: never
	Loading   bool      // a fetch is under way

	Fetches  int64 // ranges that arrived
	Failures int64 // fetches that failed
	Waits    int64 // calls that had to wait for a range
	Waiting  int   // callers that wait now

	Err error // of the last fetch, or why there will be no further range; nil when all is well
}

// Stats returns a snapshot of all tags, without those that the source no longer has, and without
// names that the source has neither given a range of, nor refused one of for good, nor listed:
// strangers make up any number of them. It locks one tag at a time. Next takes the same lock only
// when a range is used up or the next one is due. It takes time and memory in proportion to the
// tags, and does not ask the source.
func (g *Generator) Stats() Stats {
	g.mu.Lock()
	s, rows := Stats{Refreshed: g.refreshed, ListErr: g.listErr}, g.rows
	g.mu.Unlock()
	var listed map[string]bool // made for the first tag without a range
	for _, t := range g.all() {
		one, known, gone := t.stats()
		if !known && listed == nil {
			listed = make(map[string]bool, len(rows))
			for _, r := range rows {
				listed[r.Tag] = true
			}
		}
		if !gone && (known || listed[one.Tag]) {
			s.Tags = append(s.Tags, one)
		}
	}
	return s
}

// Unused returns the rows of the last listing whose tags no call has asked for, sorted by Tag. It
// is empty before the first listing, which New makes with Listed, and otherwise the first refresh.
// It is always empty if the source is not a Lister. It does not ask the source.
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

// stats returns a snapshot, whether the source has shown that it has the tag, and whether it no
// longer has it. Callers may take ids meanwhile: Used and Left are consistent with each other, but
// may be outdated.
func (t *Tag) stats() (s TagStats, known, gone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.cur.Load()
	// One of the two is 0: an open buffer has nothing reserved, and a held one nothing free.
	left := b.free() + t.reserved
	s = TagStats{
		Tag: t.name, Current: b.r, Used: b.len - left, Ready: t.ready, Left: left + t.ready.Len(),
		Issued: t.issued + b.len - left,
		Step:   t.pace.step, BaseStep: t.pace.base, LastFetch: t.pace.last, Loading: t.loading,
		Fetches: t.fetches, Failures: t.failures,
		Waits: t.waits, Waiting: t.queue.Len(), Err: t.lastErr,
	}
	switch {
	case t.ended != nil:
		s.Err = t.ended
	case t.failed != nil:
		s.Err = t.failed
	}
	return s, t.fetches > 0 || t.failed != nil, t.gone
}
