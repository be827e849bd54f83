package leafhttp

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

//go:embed page.html
var pageText string

// maxRows bounds the tags that the page shows. Those with problems come first.
const maxRows = 500

// view is what the page and the health check show.
type view struct {
	State          string
	At             time.Time
	Tags           []tagView // those that are down, then the degraded ones, then the others; each in the order of Tag
	Down, Degraded int       // how many tags are
	Left           int64     // ids of all tags that can be handed out without the source
	Refreshed      time.Time
	ListErr        error
	Segment        bool
	Snowflake      *snowflakeView
}

type tagView struct {
	segment.TagStats
	State string
}

type snowflakeView struct {
	uid.Stats
	Known bool // the generator reports figures
	State string
}

// view takes a snapshot.
func (h *handler) view() view {
	v := view{At: time.Now(), Segment: h.Segment != nil}
	if h.Segment != nil {
		s := h.Segment.Stats()
		v.Refreshed, v.ListErr = s.Refreshed, s.ListErr
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
			v.Snowflake.State = snowflakeState(v.Snowflake.Stats)
		}
	}
	v.State = v.state()
	return v
}

// Rows returns the tags that the page shows.
func (v view) Rows() []tagView { return v.Tags[:min(len(v.Tags), maxRows)] }

// page shows the state of the buffers. It has no script and loads nothing.
func (h *handler) page(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	if err := h.template.Execute(&b, h.view()); err != nil {
		h.Logger.Error("leafhttp: page", "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	_, _ = w.Write(b.Bytes()) // fails only if the client is gone
}

func (h *handler) parsePage() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"group": group,

		"ago":   ago,
		"label": label,
		"last":  last,
		"text":  h.ErrorText,
	}).Parse(pageText)
}
