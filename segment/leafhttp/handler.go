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
// tag, 503 with Retry-After for what passes, 500 for what does not.
//
// The handler has no authentication and hands ids to whoever asks. Serve it on a loopback or private address. Every unknown key
// is a question to the source; a segment.Generator with Options.Listed asks none.
package leafhttp

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"time"

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

	// Epoch is the instant of tick 0 of the ids that decodeSnowflakeId takes apart, with 41, 10 and 12 bits of milliseconds,
	// worker and sequence. The zero time means Leaf's default, 2010-11-04T01:42:54.657Z.
	Epoch time.Time

	// Location is the zone of the time text that decodeSnowflakeId gives; time.Local by default, as in the original.
	Location *time.Location

	// Timeout is how long a call for an id may wait when there is none, above 0; 1 s by default.
	Timeout time.Duration

	// Logger gets the failures that a client sees as 500 or 503. Silent by default.
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
	var err error
	if h.template, err = parsePage(); err != nil {
		return nil, fmt.Errorf("leafhttp: the page: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/segment/get/{key}", h.segment)
	mux.HandleFunc("/api/snowflake/get/{key}", h.snowflake)
	mux.HandleFunc("/decodeSnowflakeId", h.decode)
	mux.HandleFunc("/health", h.health)
	mux.HandleFunc("/{$}", h.page)
	mux.HandleFunc("/cache", h.page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An id that a cache answers with is an id given twice.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}), nil
}

type handler struct {
	Options
	template *template.Template
}
