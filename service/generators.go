package service

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/uid"
)

//go:embed generators.html
var generatorsText string

// Page shows the generators of a process: what they have, lead and lag in the last five minutes,
// the last changes of their statuses, and the tags of generators of segments. It starts a goroutine
// that looks every two seconds; Close ends it. It is safe for concurrent use.
type Page struct {
	names    []string
	sources  map[string]Source
	template *template.Template
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu        sync.Mutex
	histories map[string]*history // guarded by mu
	segments  []segments          // guarded by mu
}

// NewPage returns the page of generators by their names.
func NewPage(generators map[string]Source) *Page {
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{
		names: slices.Sorted(maps.Keys(generators)), sources: maps.Clone(generators), stop: stop,
		template:  template.Must(template.New("page").Funcs(funcs()).Parse(generatorsText)),
		histories: make(map[string]*history),
	}
	for _, name := range p.names {
		p.histories[name] = &history{}
	}
	p.wg.Go(func() { p.watch(ctx) })
	return p
}

// Close ends the goroutine and waits for it. It closes no generator. Closing twice does nothing.
func (p *Page) Close() error {
	p.stop()
	p.wg.Wait()
	return nil
}

// watch takes readings until ctx ends.
func (p *Page) watch(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		p.look(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look takes one sample of each generator.
func (p *Page) look(now time.Time) {
	for _, name := range p.names {
		s := p.sources[name].Stats()
		p.mu.Lock()
		p.histories[name].add(now, s)
		p.mu.Unlock()
	}
}

// generator is what the page shows of one.
type generator struct {
	uid.Stats
	Name    string
	Health  uid.Health
	Rate    float64
	Chart   picture
	Events  []event
	Window  float64 // how much of the window has passed, in percent
	Rejects []reject
}

// reject is how many calls failed, by reason.
type reject struct {
	Reason string
	Count  int64
}

// ServeHTTP writes the page. It has no script and loads nothing.
func (p *Page) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	view := struct {
		At         time.Time
		Generators []generator
		Segments   []segmentView
	}{At: now, Segments: p.segmentViews()}
	for _, name := range p.names {
		view.Generators = append(view.Generators, p.generator(name, now))
	}
	var b bytes.Buffer
	if err := p.template.Execute(&b, view); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; "+
		"frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	_, _ = w.Write(b.Bytes()) // fails only if the client is gone
}

// generator takes a snapshot of one.
func (p *Page) generator(name string, now time.Time) generator {
	g := generator{Stats: p.sources[name].Stats(), Name: name}
	g.Health = g.Stats.Health()
	if length := g.WindowUntil.Sub(g.LastExtended); !g.WindowUntil.IsZero() && length > 0 {
		g.Window = min(100, max(0, 100*float64(now.Sub(g.LastExtended))/float64(length)))
	}
	for _, r := range []reject{
		{"no id ready", g.RejectsEmpty}, {"too far ahead", g.RejectsLead},
		{"no claim", g.RejectsClaim},
		{"time bits used up", g.RejectsExhausted}, {"clock went back", g.RejectsRollback},
		{"ring full", g.RejectsPut},
	} {
		if r.Count > 0 {
			g.Rejects = append(g.Rejects, r)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.histories[name]
	g.Rate, g.Chart, g.Events = h.rate(), chart(h.readings), slices.Clone(h.events)
	return g
}

// funcs are what the template calls.
func funcs() template.FuncMap {
	return template.FuncMap{
		"count": group,
		"rate":  func(perSecond float64) string { return group(int64(perSecond + 0.5)) },
		"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
		"percent": func(part, all int64) string {
			return strconv.FormatFloat(100*float64(part)/float64(max(1, all)), 'f', 1, 64)
		},
		"short": func(d time.Duration) string { return d.Round(time.Millisecond).String() },
		"until": func(now, t time.Time) string {
			if d := t.Sub(now); d >= 48*time.Hour {
				return fmt.Sprintf("in %s days", group(int64(d/(24*time.Hour))))
			} else if d >= 0 {
				return "in " + d.Round(time.Second).String()
			}
			return now.Sub(t).Round(time.Second).String() + " ago"
		},
	}
}
