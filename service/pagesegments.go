package service

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/segment"
)

// pageRows is how many tags one page shows.
const pageRows = 50

// sortLasts sorts the tags by how long their ids last.
const sortLasts = "lasts"

// tagList is the tags of a generator of segments with their states.
type tagList struct {
	Tags           []tagView // first those that are down, then the degraded ones; by Tag within
	Down, Degraded int       // how many tags are
	Left           int64     // ids of all tags that can be handed out without the source
	Refreshed      time.Time
	ListErr        error

	Ranges   []string // keys for which clients cannot fetch ranges
	RangeErr error    // of the last fetch for a client, if it failed
}

type tagView struct {
	segment.TagStats
	State string
}

// newTagList returns the tags of a snapshot.
func newTagList(s segment.Stats) tagList {
	l := tagList{Refreshed: s.Refreshed, ListErr: s.ListErr}
	for _, t := range s.Tags {
		tv := tagView{t, tagState(t)}
		l.Tags = append(l.Tags, tv)
		l.Left += t.Left
		switch tv.State {
		case down:
			l.Down++
		case degraded:
			l.Degraded++
		}
	}
	states := []string{down, degraded, up}
	slices.SortStableFunc(l.Tags, func(a, b tagView) int {
		return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
	})
	return l
}

// state returns the state of all tags together: down if no tag has ids, and degraded if one has a
// problem or the list of tags could not be read.
func (l tagList) state() string {
	switch {
	case l.Down > 0 && l.Down == len(l.Tags):
		return down
	case l.Down+l.Degraded > 0 || l.ListErr != nil:
		return degraded
	default:
		return up
	}
}

// segmentsView is what the page shows of a generator of segments.
type segmentsView struct {
	tagList

	Name, State string
	Rows        []row // one page of the tags
	Unused      int   // tags in the source that nobody has asked for yet
	Found       int   // tags that the search found, or all
	Page        int   // from 1
	Pages       int
	Over        time.Duration // the time that the paces are averages over
}

// row is a tag on the page.
type row struct {
	tagView

	Next, Last int64   // the next id, and the last one that needs no fetch
	Pace       float64 // ids a second
	Waited     int     // calls that waited for a range lately
	Unused     bool    // nobody has asked for the tag
}

// Lasts returns how long the ids that are left last at the tag's pace, 0 if it has none.
func (r row) Lasts() time.Duration {
	if r.Pace <= 0 || r.Left == 0 {
		return 0
	}
	seconds := min(float64(r.Left)/r.Pace, float64(maxSpan/time.Second))
	return time.Duration(seconds * float64(time.Second))
}

// Whole returns how many ids the tag has with two full ranges, as far as it is known.
func (r row) Whole() int64 {
	next := r.Ready.Len()
	if next == 0 {
		next = max(r.Step, r.Current.Len())
	}
	return max(r.Current.Len()+next, r.Left, 1)
}

// byLasts sorts rows by how long their ids last, those first that have none, and those last that
// nobody takes ids of.
func byLasts(rows []row) {
	rank := func(r row) (int, time.Duration) {
		switch lasts := r.Lasts(); {
		case r.Unused:
			return 3, 0
		case r.Left == 0:
			return 0, 0
		case lasts == 0:
			return 2, 0
		default:
			return 1, lasts
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		rankA, lastsA := rank(a)
		rankB, lastsB := rank(b)
		return cmp.Or(cmp.Compare(rankA, rankB), cmp.Compare(lastsA, lastsB))
	})
}

// newSegmentsView returns the part of the tags that q asks for. paces remembers how many ids each
// tag had handed out, and of may know tags that nobody has asked for.
func newSegmentsView(name string, l tagList, of segments, paces *paces, q url.Values,
	now time.Time,
) segmentsView {
	v := segmentsView{tagList: l, Name: name, State: l.state()}
	before := paces.look(now, v.Tags)
	v.Over = now.Sub(before.at)
	var rows []row
	for _, t := range v.Tags {
		rows = append(rows, newRow(t, before, v.Over))
	}
	if of, ok := of.(interface{ Unused() []segment.Row }); ok {
		for _, t := range of.Unused() {
			v.Unused++
			stats := segment.TagStats{Tag: t.Tag, BaseStep: t.Step}
			rows = append(rows, row{tagView: tagView{stats, ""}, Next: t.Next, Unused: true})
		}
	}
	if part := strings.ToLower(q.Get("q")); part != "" {
		rows = slices.DeleteFunc(rows, func(r row) bool {
			return !strings.Contains(strings.ToLower(r.Tag), part)
		})
	}
	if q.Get("sort") == sortLasts {
		byLasts(rows)
	}
	v.Found = len(rows)
	v.Pages = max((v.Found+pageRows-1)/pageRows, 1)
	v.Page, _ = strconv.Atoi(q.Get("page")) // 0 if it is not a number
	v.Page = min(max(v.Page, 1), v.Pages)
	v.Rows = rows[(v.Page-1)*pageRows : min(v.Page*pageRows, v.Found)]
	return v
}

func newRow(t tagView, before sample, over time.Duration) row {
	r := row{tagView: t, Next: t.Current.From + t.Used*max(t.Current.Stride, 1)}
	if r.Last = last(t.Current); t.Ready.Len() > 0 {
		r.Last = last(t.Ready)
		if t.Used == t.Current.Len() {
			r.Next = t.Ready.From
		}
	}
	was, ok := before.tags[t.Tag]
	if over > 0 {
		r.Pace = float64(t.Issued-was.issued) / over.Seconds()
	}
	if ok { // the first call for a tag always waits
		r.Waited = int(t.Waits - was.waits)
	}
	return r
}
