package service

import (
	"slices"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// mostTags bounds how many tags of a generator the page shows.
const mostTags = 100

// SegmentSource is what is shown of segments: a segment.Generator is one.
type SegmentSource interface{ Stats() segment.Stats }

// segments is a generator of segments by its name.
type segments struct {
	name   string
	source SegmentSource
}

// AddSegments adds a generator of segments to the page, after those that are there. The page shows
// 100 tags, those whose last fetch failed first.
func (p *Page) AddSegments(name string, source SegmentSource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments = append(p.segments, segments{name, source})
}

// segmentView is what the page shows of a generator of segments.
type segmentView struct {
	segment.Stats
	Name   string
	Status uid.Status
	More   int // tags that are not shown
}

// segmentViews takes a snapshot of each.
func (p *Page) segmentViews() []segmentView {
	p.mu.Lock()
	all := slices.Clone(p.segments)
	p.mu.Unlock()
	views := make([]segmentView, 0, len(all))
	for _, s := range all {
		v := segmentView{Stats: s.source.Stats(), Name: s.name, Status: uid.Up}
		if v.ListErr != nil {
			v.Status = uid.Degraded
		}
		v.Tags = slices.SortedStableFunc(slices.Values(v.Tags), func(a, b segment.TagStats) int {
			return rank(tagStatus(b)) - rank(tagStatus(a))
		})
		if n := len(v.Tags); n > 0 {
			if worst := tagStatus(v.Tags[0]); rank(worst) > rank(v.Status) {
				v.Status = worst
			}
			v.Tags, v.More = v.Tags[:min(n, mostTags)], max(0, n-mostTags)
		}
		views = append(views, v)
	}
	return views
}

// tagStatus is up unless the last fetch failed, and then down when no ids are left.
func tagStatus(t segment.TagStats) uid.Status {
	switch {
	case t.Err == nil:
		return uid.Up
	case t.Left > 0:
		return uid.Degraded
	}
	return uid.Down
}
