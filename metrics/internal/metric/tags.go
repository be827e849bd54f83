package metric

import (
	"sync"
	"unicode/utf8"

	"github.com/uidring/uidring/segment"
)

// Other is the tag of the sum of all tags without their own series.
const Other = "(other)"

// MaxTags is the default bound on the tags with their own series.
const MaxTags = 100

// Tags bounds how many tags of a generator have their own series: the first Max that it saw. A tag
// keeps its series as long as the generator has it; the counters of a day leave one, for others to
// have. The counters of Other never decrease. A tag called Other, and one that is not UTF-8 and
// could be no label, has no series of its own. Tags is safe for concurrent use.
type Tags struct {
	Max int // 0: MaxTags

	mu     sync.Mutex
	seen   map[string]bool             // guarded by mu: whether a tag with a series is there
	others map[string]segment.TagStats // guarded by mu: the counters of those in Other
	left   segment.TagStats            // guarded by mu: what others have lost; see lacking
}

// Fold returns the tags with their own series, and Other with the sum of the rest, if there is any.
func (t *Tags) Fold(all []segment.TagStats) []segment.TagStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(all)
	most := t.Max
	if most == 0 {
		most = MaxTags
	}
	var own []segment.TagStats
	other := segment.TagStats{Tag: Other}
	others := map[string]segment.TagStats{}
	for _, s := range all {
		if !t.seen[s.Tag] && len(t.seen) < most && s.Tag != Other && utf8.ValidString(s.Tag) {
			t.seen[s.Tag] = true
		}
		if t.seen[s.Tag] {
			own = append(own, s)
			continue
		}
		others[s.Tag] = segment.TagStats{Issued: s.Issued, Fetches: s.Fetches,
			Failures: s.Failures, Waits: s.Waits}
		add(&other, s)
	}
	for tag, was := range t.others {
		add(&t.left, lacking(others[tag], was))
	}
	if t.others = others; len(others) > 0 {
		add(&other, t.left)
		own = append(own, other)
	}
	return own
}

// lacking returns what the counters of now lack of those before: all of a tag that has left, and
// part of one that was forgotten and made anew. Of two scrapes at a time the later one may have the
// older counters, of the same tags: they lack what was counted in between, and no more.
func lacking(now, was segment.TagStats) segment.TagStats {
	return segment.TagStats{Issued: max(was.Issued-now.Issued, 0),
		Fetches: max(was.Fetches-now.Fetches, 0), Failures: max(was.Failures-now.Failures, 0),
		Waits: max(was.Waits-now.Waits, 0)}
}

// leave takes the series of tags that are not in all. The caller holds mu.
func (t *Tags) leave(all []segment.TagStats) {
	there := make(map[string]bool, len(t.seen))
	for _, s := range all {
		if t.seen[s.Tag] {
			there[s.Tag] = true
		}
	}
	t.seen = there
}

// add adds s to sum. LastFetch becomes the newer one, and Err that of s if it has one.
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
