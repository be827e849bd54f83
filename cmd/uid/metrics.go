package main

import (
	"errors"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// withMetrics returns a handler that serves the figures of the generators of o, at /metrics for
// Prometheus and at /debug/uid for people, and leaves the other paths to next. It returns what
// counts requests, too, for the caller to put in front of all. The caller closes the page at
// /debug/uid.
func withMetrics(
	next http.Handler, o *service.HandlerOptions, t *tokens,
) (http.Handler, *httpMetrics, io.Closer) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "uid_serve_wrong_tokens_total",
		Help: "Requests with a token that is not known.",
	}, func() float64 { return float64(t.wrong.Load()) }))
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	requests := newHTTPMetrics(registry)
	sources := map[string]uid.Generator{}
	if g := o.Snowflake; g != nil {
		registry.MustRegister(uidprom.New("snowflake", g))
		sources["snowflake"] = shown{g, o.ErrorText}
	}
	page := service.NewPage(sources)
	page.Describe(o.Place, "/", "/metrics", "/health")
	if o.Segment != nil {
		registry.MustRegister(uidprom.NewSegments("segment", o.Segment, 0))
		page.AddSegments("segment", shownSegments{o.Segment, o.ErrorText})
	}
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		own := r.URL.Path == "/metrics" || r.URL.Path == "/debug/uid"
		if own {
			r.Pattern = r.URL.Path
		}
		switch {
		case own && !reads:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "want GET, HEAD", http.StatusMethodNotAllowed)
		case !own:
			next.ServeHTTP(w, r)
		case r.URL.Path == "/metrics":
			metrics.ServeHTTP(w, r)
		default:
			page.ServeHTTP(w, r)
		}
	}), requests, page
}

// shown is a source whose errors and authority are free of passwords.
type shown struct {
	uid.Generator
	text func(error) string
}

func (s shown) Stats() uid.Stats {
	stats := s.Generator.Stats()
	for _, err := range []*error{&stats.Err, &stats.ExtendErr} {
		hide(err, s.text)
	}
	stats.Authority = s.text(errors.New(stats.Authority))
	return stats
}

// shownSegments is the same for segments.
type shownSegments struct {
	of   *segment.Generator
	text func(error) string
}

func (s shownSegments) Stats() segment.Stats {
	stats := s.of.Stats()
	hide(&stats.ListErr, s.text)
	for i := range stats.Tags {
		hide(&stats.Tags[i].Err, s.text)
	}
	return stats
}

// hide replaces *err, unless it is nil, by an error with the text that may be shown.
func hide(err *error, text func(error) string) {
	if *err != nil {
		*err = errors.New(text(*err))
	}
}
