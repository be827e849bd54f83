package segment

import "time"

// Stats is a snapshot of a Generator.
type Stats struct {
	Tags      []TagStats // in the order of Tag
	Refreshed time.Time  // when the source's tags were last listed; zero: never
	ListErr   error      // of the last listing; nil when it went well
}

// TagStats is a snapshot of a tag. Its figures come from words that exist anyway: Next counts nothing.
type TagStats struct {
	Tag     string
	Current Range // the range in use; empty before the first one arrived
	Used    int64 // how many ids of Current are handed out
	Ready   Range // the next range; empty while there is none
	Left    int64 // ids that can be handed out without the source

	Step      int64     // what was asked for last, or would be; 0: not known yet
	BaseStep  int64     // the source's own step; 0: not known yet
	LastFetch time.Time // when the last range arrived; zero: never
	Loading   bool      // a fetch is under way

	Fetches  int64 // ranges that arrived
	Failures int64 // fetches that failed
	Waits    int64 // times that a caller had to wait for a range
	Waiting  int   // callers that wait at present

	Err error // why the last fetch failed, or why there will be no further one; nil when all is well
}

// Stats returns a snapshot of all tags. It takes locks that Next takes only when a range, or a run of it, is used up.
func (g *Generator) Stats() Stats {
	g.mu.Lock()
	tags := g.all()
	s := Stats{Refreshed: g.refreshed, ListErr: g.listErr}
	g.mu.Unlock()
	for _, t := range tags {
		s.Tags = append(s.Tags, t.Stats())
	}
	return s
}

// Stats returns a snapshot of the tag.
func (t *Tag) Stats() TagStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.cur.Load()
	s := TagStats{
		Tag: t.name, Current: b.r, Used: b.used(),
		Step: t.pace.step, BaseStep: t.pace.base, LastFetch: t.pace.last, Loading: t.loading,
		Fetches: t.fetches, Failures: t.failures, Waits: t.waits, Waiting: t.waiting, Err: t.lastErr,
	}
	s.Left = b.len - s.Used
	s.Ready = t.ready
	s.Left += t.ready.Len()
	if t.failed != nil {
		s.Err = t.failed
	}
	if t.ended != nil {
		s.Err = t.ended
	}
	return s
}
