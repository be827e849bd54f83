package service

import (
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// view is what the page and the health check show.
type view struct {
	tagList

	State     string
	At        time.Time
	Segment   bool
	Snowflake *generatorView
}

// view takes a snapshot.
func (h *handler) view() view {
	v := view{At: time.Now(), Segment: h.Segment != nil}
	if h.Segment != nil {
		v.tagList = newTagList(h.Segment.Stats())
		v.Ranges, v.RangeErr = h.troubles.look(v.At)
	}
	if h.Snowflake != nil {
		g := newGeneratorView("Time-ordered ids", h.Snowflake.Stats(), v.At, h.ErrorText)
		v.Snowflake = &g
	}
	v.State = v.state()
	return v
}

// page shows the state of the generators.
func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	v := h.view()
	s := newSheet(q, v.State, v.At, v.At.Sub(h.begin))
	s.Place, s.Links = h.Place, append([]string{"/health", "/openapi.json"}, h.Links...)
	if v.Snowflake != nil {
		s.Generators = append(s.Generators, *v.Snowflake)
	}
	if v.Segment {
		of := newSegmentsView("Number segments", v.tagList, h.Segment, &h.paces, q, v.At)
		if len(of.Ranges) > 0 && of.State == up || of.State == down && v.State != down {
			of.State = degraded // one exhausted tag has no ids on any server
		}
		s.Segments = append(s.Segments, of)
	}
	if err := show(w, h.template, s); err != nil {
		h.Logger.Error("service: page", "error", err)
	}
}

// version names the program and its version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path == "" {
		return ""
	}
	return strings.TrimSpace(path.Base(info.Main.Path) + " " + info.Main.Version)
}
