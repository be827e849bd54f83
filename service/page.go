package service

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/uidring/uidring/internal/human"
)

//go:embed page.html
var pageText string

// sheet is what the template shows: that of a Handler, and that of a Page.
type sheet struct {
	State      string
	At         time.Time
	Generators []generatorView
	Segments   []segmentsView
	Search     bool // a search was asked for
	Query      string
	Sort       string // what tags are sorted by
	Host       string
	Place      string // where ids come from
	Links      []string
	Uptime     time.Duration
	Version    string
}

// newSheet returns the sheet that a query asks for.
func newSheet(q url.Values, state string, now time.Time, uptime time.Duration) sheet {
	host, _ := os.Hostname() // for people only
	s := sheet{State: state, At: now, Search: q.Has("q"), Query: q.Get("q"), Host: host,
		Uptime: uptime, Version: version()}
	if q.Get("sort") == sortLasts {
		s.Sort = sortLasts
	}
	return s
}

// With is the query of the page with another order or page, and the same search.
func (s sheet) With(sort string, page int) string {
	q := url.Values{}
	if s.Query != "" {
		q.Set("q", s.Query)
	}
	if sort != "" {
		q.Set("sort", sort)
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "?" + q.Encode()
}

// Refresh reports whether the page reloads itself. An empty search form does not, because the text
// that a user types would be lost.
func (s sheet) Refresh() bool { return !s.Search || s.Query != "" }

// parsePage returns the template, which formats errors with text.
func parsePage(text func(error) string) (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"add":     func(a, b int) int { return a + b },
		"ago":     ago,
		"group":   group,
		"label":   label,
		"pace":    pace,
		"percent": percent,
		"plural":  human.Plural,
		"short":   func(d time.Duration) string { return d.Round(time.Millisecond).String() },
		"span":    span,
		"text":    text,
		"time":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"until":   until,
	}).Parse(pageText)
}

// percent formats a part of all.
func percent(part, all int64) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(1, all)), 'f', 1, 64)
}

// until formats how far from now t is.
func until(now, t time.Time) string {
	switch d := t.Sub(now); {
	case d >= 48*time.Hour:
		return "in " + span(min(d, maxSpan-1))
	case d >= 0:
		return "in " + d.Round(time.Second).String()
	default:
		return (-d).Round(time.Second).String() + " ago"
	}
}

// show writes the page, which has no script and loads nothing.
func show(w http.ResponseWriter, t *template.Template, s sheet) error {
	var b bytes.Buffer
	if err := t.Execute(&b, s); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "+
		"frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	_, _ = w.Write(b.Bytes()) // fails only if the client is gone
	return nil
}
