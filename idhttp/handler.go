// Package idhttp serves ids over HTTP at the addresses that Leaf's clients call, with a health
// check and a page that shows the state of the buffers.
//
//	/api/segment/get/{key}     an id of the tag, as plain decimal text
//	/api/snowflake/get/{key}   a time-ordered id, as plain decimal text; the key is ignored
//	...?count=N                1 to N ids as a JSON array of decimal strings; N is 1..1000
//	POST /api/segment/range/{key}
//	                           a range of ids to count through, as JSON
//	...?count=N                a range of about N ids
//	POST /api/worker/assign, extend, release, now
//	                           worker ids with their windows, as JSON
//	/decodeSnowflakeId?snowflakeId=N
//	                           the parts of a time-ordered id, as JSON
//	/openapi.json              the description of these routes, as OpenAPI
//	/health                    "up", "degraded" or "down", as JSON
//	/ and /cache               the status page
//
// Leaf answers every failure with 500. Here the status tells a client what to do: 404 is an unknown
// tag, 503 with Retry-After a temporary failure, and 500 a permanent one. Only GET and POST hand
// out ids, so a probe with HEAD or OPTIONS uses none up. Package idclient is the client of the
// range and worker routes.
//
// The handler has no authentication and hands ids to every client, except to browsers on behalf of
// a page of another origin, which get 403. Its page shows the texts of errors, which name hosts and
// tables unless Options.ErrorText hides them. Serve it on a loopback or private address. A key that
// the source did not know is refused for a second without asking it again, for up to 1,000 keys. If
// the segment.Generator has Options.Listed, the source is never asked about one. Slow clients are
// bounded by the timeouts of the http.Server.
package idhttp

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

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/loglimit"
	"github.com/uidring/uidring/internal/wire"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// Snowflake makes time-ordered ids: every uid.Generator does.
type Snowflake interface {
	Next(ctx context.Context) (uid.ID, error)
	Fill(ctx context.Context, ids []uid.ID) (int, error)
}

// Options are the options of New. At least one of Segment, Snowflake and Workers is required; a
// route without its generator answers 404.
type Options struct {
	Segment   *segment.Generator
	Snowflake Snowflake

	// Workers makes the claims of clients. It must keep claims apart that all come from this
	// process, as workernode.Leased does. If it is an assigner.Clock, clients can ask any server
	// for the authority's time, and otherwise only the one that made their claim. nil: the worker
	// routes answer 404.
	Workers assigner.Assigner

	// Layout is the layout that decodeSnowflakeId reads ids in. nil means Leaf's: 41 bits of
	// milliseconds since 2010-11-04T01:42:54.657Z, 10 of worker id and 12 of sequence.
	Layout *bitsalloc.Layout

	// Location is the time zone of decodeSnowflakeId's answer; time.Local by default, as in Leaf.
	Location *time.Location

	// Timeout is how long a call for an id may wait when there is none, above 0; 1 s by default.
	Timeout time.Duration

	// Stopping, once closed, makes /health answer 503, so that a load balancer sends requests
	// elsewhere before the server closes its listener. Ids are still handed out. nil: never.
	Stopping <-chan struct{}

	// ErrorText formats an error for the status page, for /health and for the refusal of a claim;
	// error.Error by default. It must be safe for concurrent use.
	ErrorText func(error) string

	// Trusted reports whether the client of a request for /health may see the names of tags and
	// the texts of errors. Others see how many tags have a problem. It must be safe for concurrent
	// use. nil: every client is trusted.
	Trusted func(*http.Request) bool

	// Logger gets the failures that a client sees as 409, 500 or 503, but no claim that the server
	// does not know. It gets at most one line a second of each kind, so that an outage does not
	// fill the disk: ids refused with 500, ids with 503, and worker ids. Silent by default.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// New returns the handler, which is safe for concurrent use. It starts no goroutine, does no I/O
// and copies the options. The caller closes the generators, once the server has shut down. An
// option that is missing or out of range is an error that names it.
func New(opts *Options) (http.Handler, error) {
	if opts == nil || opts.Segment == nil && opts.Snowflake == nil && opts.Workers == nil {
		return nil, errors.New("idhttp: none of Segment, Snowflake and Workers is set, " +
			"want at least one")
	}
	h := &handler{Options: *opts, version: version(), begin: time.Now()}
	h.paces.old.at, h.paces.recent.at = h.begin, h.begin
	if h.Timeout == 0 {
		h.Timeout = time.Second
	}
	if h.Timeout < 0 {
		return nil, fmt.Errorf("idhttp: Timeout is %v, want above 0", h.Timeout)
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
		return nil, fmt.Errorf("idhttp: Layout: %w", err)
	}
	if h.template, err = h.parsePage(); err != nil {
		return nil, fmt.Errorf("idhttp: the page: %w", err)
	}
	h.mux = http.NewServeMux()
	for _, r := range h.routes() {
		h.mux.HandleFunc(r.pattern, methods(r.serve, r.methods...))
	}
	return h, nil
}

// route is a pattern of the mux and the methods that it answers to.
type route struct {
	pattern string
	methods []string
	serve   http.HandlerFunc
}

func (h *handler) routes() []route {
	get, post, head := http.MethodGet, http.MethodPost, http.MethodHead
	keyed := func(f func(http.ResponseWriter, *http.Request, string)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { f(w, r, r.PathValue("key")) }
	}
	id := func(f http.HandlerFunc) http.HandlerFunc { return only("count", inText, f) }
	claim := func(f http.HandlerFunc) http.HandlerFunc { return only("", inFailure, f) }
	return []route{
		{segmentPath + "{key}", []string{get, post}, id(keyed(h.segment))},
		{snowflakePath + "{key}", []string{get, post}, id(keyed(h.snowflake))},
		{wire.RangePath + "{key}", []string{post}, only("count", inFailure, h.ranges)},
		{wire.AssignPath, []string{post}, claim(h.assign)},
		{wire.ExtendPath, []string{post}, claim(h.extend)},
		{wire.ReleasePath, []string{post}, claim(h.release)},
		{wire.NowPath, []string{post}, claim(h.now)},
		{"/decodeSnowflakeId", []string{get, head, post},
			only("snowflakeId", inErrorMsg, h.decode)},
		{"/openapi.json", []string{get, head}, openAPI},
		{"/health", []string{get, head}, h.health},
		{"/{$}", []string{get, head}, h.page},
		{"/cache", []string{get, head}, h.page},
	}
}

// Header values that answers share. They are never changed in place, and without spare capacity an
// append to one copies it.
var (
	noStore   = []string{"no-store"} // a cached answer would hand out an id twice
	noSniff   = []string{"nosniff"}
	plainText = []string{"text/plain; charset=utf-8"}
	jsonText  = []string{"application/json; charset=utf-8"}
)

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	if crossSite(r) {
		http.Error(w, "a page of another origin gets no ids", http.StatusForbidden)
		return
	}
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	if !h.hot(w, r) {
		h.mux.ServeHTTP(w, r)
	}
}

// maxBody is the most bytes of a request's body that are read. A form with an id is far shorter,
// and net/http would keep a longer one in memory and in files.
const maxBody = 4 << 10

type handler struct {
	Options
	alloc    *bitsalloc.Allocator // of Layout
	template *template.Template
	version  string
	begin    time.Time // when the handler was made
	paces    paces
	mux      *http.ServeMux
	claims   claims
	troubles troubles
	limits   [3]loglimit.Limit // of the log: temporary failures, permanent ones, worker ids
}

// methods returns a handler that calls f for the methods in names and answers 405 to all others.
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
