package metric

import (
	"sync"

	"github.com/uidring/uidring/segment"
)

// Other is the tag that stands for all that MaxTags leaves no series of their own.
const Other = "(other)"

// MaxTags is the default bound of the tags of one generator.
const MaxTags = 100

// Tags bounds how many tags have series of their own: the first Max that it saw. It is safe for
// concurrent use. A tag that has its series keeps it, so that its counters never go down.
type Tags struct {
	Max int // 0: MaxTags

	mu   sync.Mutex
	seen map[string]bool // guarded by mu
}

// Fold returns the tags that have series of their own, and one more for all others, if any.
func (t *Tags) Fold(all []segment.TagStats) []segment.TagStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen == nil {
		t.seen = make(map[string]bool)
	}
	most := t.Max
	if most == 0 {
		most = MaxTags
	}
	var own []segment.TagStats
	other := segment.TagStats{Tag: Other}
	folded := false
	for _, s := range all {
		if !t.seen[s.Tag] && len(t.seen) < most {
			t.seen[s.Tag] = true
		}
		if t.seen[s.Tag] {
			own = append(own, s)
			continue
		}
		folded = true
		add(&other, s)
	}
	if folded {
		own = append(own, other)
	}
	return own
}

// add adds what can be added up; of times the newest counts, and any error.
func add(sum *segment.TagStats, s segment.TagStats) {
	sum.Left += s.Left
	sum.Issued += s.Issued
	sum.Step += s.Step
	sum.Waiting += s.Waiting
	sum.Fetches += s.Fetches
	sum.Failures += s.Failures
	sum.Waits += s.Waits
	if s.LastFetch.After(sum.LastFetch) {
		sum.LastFetch = s.LastFetch
	}
	if s.Err != nil {
		sum.Err = s.Err
	}
}
