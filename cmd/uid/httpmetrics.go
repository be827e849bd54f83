package main

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// httpMetrics counts requests by route, method and status, and how long they took by route. All
// labels come from short lists, whatever clients send.
type httpMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newHTTPMetrics(registry prometheus.Registerer) *httpMetrics {
	m := &httpMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "uid_http_requests_total",
			Help: "Requests that were answered, by the pattern of the route, method and status.",
		}, []string{"route", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "uid_http_request_duration_seconds",
			Help: "How long requests took until their answer was written, by route.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5,
				1, 2.5, 5, 10},
		}, []string{"route"}),
	}
	registry.MustRegister(m.requests, m.seconds)
	return m
}

// count returns next, counted.
func (m *httpMetrics) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		answer := &counted{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(answer, r)
		route, method := r.Pattern, "other" // the mux has set the pattern; a refusal has none
		if route == "" {
			route = "other"
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
			method = r.Method
		}
		m.requests.WithLabelValues(route, method, strconv.Itoa(answer.code)).Inc()
		m.seconds.WithLabelValues(route).Observe(time.Since(begin).Seconds())
	})
}

// counted is a ResponseWriter that remembers the status.
type counted struct {
	http.ResponseWriter

	code int
}

func (a *counted) WriteHeader(code int) {
	a.code = code
	a.ResponseWriter.WriteHeader(code)
}

// Unwrap is for http.ResponseController.
func (a *counted) Unwrap() http.ResponseWriter { return a.ResponseWriter }
