package service

import (
	"sync"
	"time"
)

// paceOver is the shortest time that a pace is an average over, once the page has been shown for
// that long.
const paceOver = 30 * time.Second

// paces remembers how many ids each tag had handed out when the page was shown before. The page
// shows the difference as ids a second. Its methods are safe for concurrent use.
type paces struct {
	mu     sync.Mutex // guards the fields below
	old    sample     // paces are measured from here
	recent sample     // replaces old when it is paceOver old
}

// sample is how much each tag had handed out at an instant. It does not change once look returns.
type sample struct {
	at   time.Time
	tags map[string]tally // by tag; one that is missing had handed out nothing
}

// tally is how many ids a tag had handed out, and how many calls had waited for them.
type tally struct{ issued, waits int64 }

// start begins to measure at now.
func (p *paces) start(now time.Time) { p.old.at, p.recent.at = now, now }

// look returns the sample to measure paces from at now. tags are the tags as they are now.
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
