// Package leafhttp serves ids over HTTP at the addresses that Leaf's clients call, with a health check and a page that shows
// the state of the buffers.
//
//	/api/segment/get/{key}         an id of the tag, as plain decimal text
//	/api/snowflake/get/{key}       a time-ordered id, as plain decimal text; the key is not looked at
//	/decodeSnowflakeId?snowflakeId=  a time-ordered id taken apart, as JSON
//	/health                        "up", "degraded" or "down", as JSON
//	/ and /cache                   the status page
//
// Where the original answers 500 to every failure, the status here says what a client may do about it: 404 for an unknown
// tag, 503 with Retry-After for what passes, 500 for what does not. An id is handed out to GET and POST only: a probe with
// HEAD or OPTIONS uses none up.
//
// The handler has no authentication and hands ids to whoever asks, and its page shows the reasons of failures, with the names
// of hosts and tables, unless ErrorText hides them. Serve it on a loopback or private address. Every unknown key is a question
// to the source; a segment.Generator with Options.Listed asks none. The server's own timeouts bound a slow client.
package leafhttp

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// Snowflake makes time-ordered ids: every uid.Generator does.
type Snowflake interface {
	Next(ctx context.Context) (uid.ID, error)
}

// Options are the options of New. At least one of Segment and Snowflake is required; a route without its generator answers
// 404.
type Options struct {
	Segment   *segment.Generator
	Snowflake Snowflake

	// Layout is that of the time-ordered ids, for decodeSnowflakeId. nil means Leaf's: 41, 10 and 12 bits of milliseconds
	// since 2010-11-04T01:42:54.657Z, worker and sequence.
	Layout *bitsalloc.Layout

	// Location is the zone of the time text that decodeSnowflakeId gives; time.Local by default, as in the original.
	Location *time.Location

	// Timeout is how long a call for an id may wait when there is none, above 0; 1 s by default.
	Timeout time.Duration

	// ErrorText says how an error reads on the status page; by default it is the error's text. Several requests may call it
	// at once.
	ErrorText func(error) string

	// Logger gets the failures that a client sees as 500 or 503, at most one of each status a second: an outage must not
	// fill the disk. Silent by default.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// New returns the handler. It starts nothing and closes nothing: the generators stay the caller's.
func New(opts *Options) (http.Handler, error) {
	if opts == nil || opts.Segment == nil && opts.Snowflake == nil {
		return nil, errors.New("leafhttp: neither Segment nor Snowflake is set, want at least one")
	}
	h := &handler{Options: *opts}
	if h.Timeout == 0 {
		h.Timeout = time.Second
	}
	if h.Timeout < 0 {
		return nil, fmt.Errorf("leafhttp: Timeout is %v, want above 0", h.Timeout)
	}
	if h.Location == nil {
		h.Location = time.Local
	}
	if h.Logger == nil {
		h.Logger = slog.New(slog.DiscardHandler)
	}
	if h.ErrorText == nil {
		h.ErrorText = error.Error
	}
	layout := bitsalloc.Leaf()
	if h.Layout != nil {
		layout = *h.Layout
	}
	var err error
	if h.alloc, err = bitsalloc.New(layout); err != nil {
		return nil, fmt.Errorf("leafhttp: Layout: %w", err)
	}
	if h.template, err = h.parsePage(); err != nil {
		return nil, fmt.Errorf("leafhttp: the page: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/segment/get/{key}", methods(h.segment, http.MethodGet, http.MethodPost))
	mux.HandleFunc("/api/snowflake/get/{key}", methods(h.snowflake, http.MethodGet, http.MethodPost))
	mux.HandleFunc("/decodeSnowflakeId", methods(h.decode, http.MethodGet, http.MethodHead, http.MethodPost))
	mux.HandleFunc("/health", methods(h.health, http.MethodGet, http.MethodHead))
	mux.HandleFunc("/{$}", methods(h.page, http.MethodGet, http.MethodHead))
	mux.HandleFunc("/cache", methods(h.page, http.MethodGet, http.MethodHead))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An id that a cache answers with is an id given twice.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// maxBody bounds a request's body in bytes. A form with an id is far shorter, and one that is not would be kept, in files too.
const maxBody = 4 << 10

type handler struct {
	Options
	alloc    *bitsalloc.Allocator // of Layout
	template *template.Template
	gates    [2]gate // of the log: failures that pass, failures that do not
}

// methods returns f for the methods of the given names, and 405 for all others.
func methods(f http.HandlerFunc, names ...string) http.HandlerFunc {
	allow := strings.Join(names, ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(names, r.Method) {
			w.Header().Set("Allow", allow)
			http.Error(w, "want "+allow, http.StatusMethodNotAllowed)
			return
		}
		f(w, r)
	}
}
