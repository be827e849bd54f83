package idhttp

import (
	"sync"
	"time"
)

// paceOver is over how long a pace is an average at the least, once the page has been shown for as
// long.
const paceOver = 30 * time.Second

// paces remembers what tags had handed out when the page was shown before, so that it can say how
// fast they go. Its methods are safe for concurrent use.
type paces struct {
	mu     sync.Mutex
	old    sample // what paces are measured from
	recent sample // what they will be measured from
}

// sample is what tags had handed out at an instant. It is not changed once it is made.
type sample struct {
	at   time.Time
	tags map[string]tally // by tag; one that is missing had handed out nothing
}

// tally is how many ids a tag had handed out, and how many calls had waited for them.
type tally struct{ issued, waits int64 }

// look returns the sample to measure from at now, when the tags are as they are.
func (p *paces) look(now time.Time, tags []tagView) sample {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.recent.at) >= paceOver {
		p.old, p.recent = p.recent, sample{now, make(map[string]tally, len(tags))}
		for _, t := range tags {
			p.recent.tags[t.Tag] = tally{t.Issued, t.Waits}
		}
	}
	return p.old
}
