package leafhttp

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

//go:embed page.html
var pageText string

// view is what the page and the health check show.
type view struct {
	State     string
	At        time.Time
	Tags      []tagView
	Left      int64 // ids of all tags that can be handed out without the source
	Refreshed time.Time
	ListErr   error
	Segment   bool
	Snowflake *snowflakeView
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
	v := view{State: up, At: time.Now(), Segment: h.Segment != nil}
	if h.Segment != nil {
		s := h.Segment.Stats()
		v.Refreshed, v.ListErr = s.Refreshed, s.ListErr
		if s.ListErr != nil {
			v.State = degraded
		}
		for _, t := range s.Tags {
			tv := tagView{t, tagState(t)}
			v.Tags = append(v.Tags, tv)
			v.Left += t.Left
			v.State = worse(v.State, tv.State)
		}
	}
	if h.Snowflake != nil {
		v.Snowflake = &snowflakeView{State: up}
		if s, ok := h.Snowflake.(interface{ Stats() uid.Stats }); ok {
			v.Snowflake.Stats, v.Snowflake.Known = s.Stats(), true
			v.Snowflake.State = snowflakeState(v.Snowflake.Stats)
		}
		v.State = worse(v.State, v.Snowflake.State)
	}
	return v
}

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

func parsePage() (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"group": group,
		"ago":   ago,
		"add":   func(a, b int64) int64 { return a + b },
		"last":  func(r segment.Range) int64 { return r.To - 1 },
	}).Parse(pageText)
}

// group writes a number with a thin space between groups of three digits, which is how long ids can be read.
func group(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// ago writes how long before now t was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	switch d := now.Sub(t); {
	case d < 2*time.Second:
		return "a moment ago"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	default:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
}
