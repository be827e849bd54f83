package service

import (
	"cmp"
	"context"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// segments has what a Page shows: a segment.Generator does.
type segments interface{ Stats() segment.Stats }

// Page shows the generators of a process: what they have, lead and lag in the last five minutes,
// the last changes of their statuses, and the tags of generators of segments. It starts a goroutine
// that looks five times a second; Close ends it. It is safe for concurrent use.
type Page struct {
	begin    time.Time
	names    []string
	sources  map[string]uid.Generator
	template *template.Template
	stop     context.CancelFunc
	wg       sync.WaitGroup

	mu        sync.Mutex
	place     string              // guarded by mu
	links     []string            // guarded by mu
	histories map[string]*history // guarded by mu
	segments  []*namedSegments    // guarded by mu
}

// namedSegments is a generator of segments on a Page.
type namedSegments struct {
	name   string
	source segments
	paces  paces
}

// NewPage returns the page of generators by their names.
func NewPage(generators map[string]uid.Generator) *Page {
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{
		begin: time.Now(),
		names: slices.Sorted(maps.Keys(generators)), sources: maps.Clone(generators), stop: stop,
		template:  template.Must(parsePage(error.Error)),
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
	ticker := time.NewTicker(every / looks)
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

// AddSegments adds a generator of segments to the page, after those that are there. The page shows
// those tags first whose last fetch failed, 50 at once, and finds tags by a part of their names.
func (p *Page) AddSegments(name string, source segments) {
	s := &namedSegments{name: name, source: source}
	s.paces.start(time.Now())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments = append(p.segments, s)
}

// Describe has the page say where its generators get their ids, and link to other pages by their
// paths.
func (p *Page) Describe(place string, links ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.place, p.links = place, slices.Clone(links)
}

// ServeHTTP writes the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, now := r.URL.Query(), time.Now()
	s := newSheet(q, up, now, now.Sub(p.begin))
	for _, name := range p.names {
		g := newGeneratorView(name, p.sources[name].Stats(), now, error.Error)
		p.mu.Lock()
		h := p.histories[name]
		drawn := chart(h.readings)
		g.Rate, g.Chart, g.Events = h.rate(), &drawn, slices.Clone(h.events)
		p.mu.Unlock()
		s.Generators = append(s.Generators, g)
		s.State = worse(s.State, g.State)
	}
	p.mu.Lock()
	all := slices.Clone(p.segments)
	s.Place, s.Links = p.place, p.links
	p.mu.Unlock()
	for _, of := range all {
		v := newSegmentsView(of.name, newTagList(of.source.Stats()), of.source, &of.paces, q, now)
		s.Segments = append(s.Segments, v)
		s.State = worse(s.State, v.State)
	}
	_ = show(w, p.template, s) // the client is told
}

// worse returns the worse of two states.
func worse(a, b string) string {
	states := []string{up, degraded, down}
	if cmp.Compare(slices.Index(states, a), slices.Index(states, b)) < 0 {
		return b
	}
	return a
}
