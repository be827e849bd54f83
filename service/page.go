package service

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

//go:embed page.html
var pageText string

// pageRows is how many tags one page shows.
const pageRows = 50

// view is what the page and the health check show.
type view struct {
	State          string
	At             time.Time
	Tags           []tagView // first those that are down, then the degraded ones; by Tag within
	Down, Degraded int       // how many tags are
	Left           int64     // ids of all tags that can be handed out without the source
	Refreshed      time.Time
	ListErr        error
	Ranges         []string // keys for which clients cannot fetch ranges
	RangeErr       error    // of the last fetch for a client, if it failed
	Segment        bool
	Snowflake      *snowflakeView
}

type tagView struct {
	segment.TagStats
	State string
}

type snowflakeView struct {
	uid.Stats
	Known bool // the generator has Stats
	State string
}

// view takes a snapshot.
func (h *handler) view() view {
	v := view{At: time.Now(), Segment: h.Segment != nil}
	if h.Segment != nil {
		s := h.Segment.Stats()
		v.Refreshed, v.ListErr = s.Refreshed, s.ListErr
		v.Ranges, v.RangeErr = h.troubles.look(v.At)
		for _, t := range s.Tags {
			tv := tagView{t, tagState(t)}
			v.Tags = append(v.Tags, tv)
			v.Left += t.Left
			switch tv.State {
			case down:
				v.Down++
			case degraded:
				v.Degraded++
			}
		}
		states := []string{down, degraded, up}
		slices.SortStableFunc(v.Tags, func(a, b tagView) int {
			return cmp.Compare(slices.Index(states, a.State), slices.Index(states, b.State))
		})
	}
	if h.Snowflake != nil {
		v.Snowflake = &snowflakeView{State: up}
		if s, ok := h.Snowflake.(interface{ Stats() uid.Stats }); ok {
			v.Snowflake.Stats, v.Snowflake.Known = s.Stats(), true
			v.Snowflake.State = string(v.Snowflake.Health().Status)
		}
	}
	v.State = v.state()
	return v
}

// pageView is what the template shows.
type pageView struct {
	view

	Rows    []row // one page of the tags
	Unused  int   // tags in the source that nobody has asked for yet
	Found   int   // tags that the search found, or all
	Search  bool  // a search was asked for
	Query   string
	Page    int // from 1
	Pages   int
	Over    time.Duration // the time that the paces are averages over
	Uptime  time.Duration
	Version string
}

// row is a tag on the page.
type row struct {
	tagView

	Next, Last int64   // the next id, and the last one that needs no fetch
	Pace       float64 // ids a second
	Waited     int     // calls that waited for a range lately
	Unused     bool    // nobody has asked for the tag
}

// Refresh reports whether the page reloads itself. An empty search form does not, because the text
// that a user types would be lost.
func (p pageView) Refresh() bool { return !p.Search || p.Query != "" }

// Lasts returns how long the ids that are left last at the tag's pace, 0 if it has none.
func (r row) Lasts() time.Duration {
	if r.Pace <= 0 || r.Left == 0 {
		return 0
	}
	seconds := min(float64(r.Left)/r.Pace, float64(maxSpan/time.Second))
	return time.Duration(seconds * float64(time.Second))
}

// page shows the state of the buffers. It has no script and loads nothing.
func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	if err := h.template.Execute(&b, h.pageView(r)); err != nil {
		h.Logger.Error("service: page", "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "+
		"frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	_, _ = w.Write(b.Bytes()) // fails only if the client is gone
}

// pageView takes a snapshot of the part that a request asks for.
func (h *handler) pageView(r *http.Request) pageView {
	q := r.URL.Query()
	p := pageView{view: h.view(), Search: q.Has("q"), Query: q.Get("q"), Version: h.version}
	p.Uptime = p.At.Sub(h.begin)
	if h.Segment == nil {
		return p
	}
	before := h.paces.look(p.At, p.Tags)
	p.Over = p.At.Sub(before.at)
	var rows []row
	for _, t := range p.Tags {
		rows = append(rows, newRow(t, before, p.Over))
	}
	for _, t := range h.Segment.Unused() {
		p.Unused++
		stats := segment.TagStats{Tag: t.Tag, BaseStep: t.Step}
		rows = append(rows, row{tagView: tagView{stats, ""}, Next: t.Next, Unused: true})
	}
	if p.Query != "" {
		rows = slices.DeleteFunc(rows, func(r row) bool {
			return !strings.Contains(strings.ToLower(r.Tag), strings.ToLower(p.Query))
		})
	}
	p.Found = len(rows)
	p.Pages = max((p.Found+pageRows-1)/pageRows, 1)
	p.Page, _ = strconv.Atoi(q.Get("page")) // 0 if it is not a number
	p.Page = min(max(p.Page, 1), p.Pages)
	p.Rows = rows[(p.Page-1)*pageRows : min(p.Page*pageRows, p.Found)]
	return p
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

// version names the program and its version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return ""
	}
	return strings.TrimSpace(path.Base(info.Main.Path) + " " + info.Main.Version)
}

func (h *handler) parsePage() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"add":    func(a, b int) int { return a + b },
		"ago":    ago,
		"group":  group,
		"label":  label,
		"pace":   pace,
		"plural": human.Plural,
		"span":   span,
		"text":   h.ErrorText,
	}).Parse(pageText)
}
