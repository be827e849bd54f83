// Package idhttp serves ids over HTTP at the addresses that Leaf's clients call, with a health
// check and a page that shows the state of the buffers.
//
//	/api/segment/get/{key}         an id of the tag, as plain decimal text
//	/api/snowflake/get/{key}       a time-ordered id, as plain decimal text; the key is not looked at
//	...?count=N                    up to N ids, 1..1000, as a JSON array of decimal strings; at least 1
//	/api/segment/range/{key}       a range of ids to count through, as JSON; ?count=N: of about N ids
//	/api/worker/assign, extend, release, now  worker ids with their windows, as JSON
//	/decodeSnowflakeId?snowflakeId=  a time-ordered id taken apart, as JSON
//	/openapi.json                  this list for programs, as OpenAPI
//	/health                        "up", "degraded" or "down", as JSON
//	/ and /cache                   the status page
//
// Where the original answers 500 to every failure, the status here says what a client may do about
// it: 404 for an unknown tag, 503 with Retry-After for what passes, 500 for what does not. An id is
// handed out to GET and POST only: a probe with HEAD or OPTIONS uses none up. Package idclient is
// the client of the range and worker routes.
//
// The handler has no authentication and hands ids to every client, and its page shows the reasons
// of failures, with the names of hosts and tables, unless ErrorText hides them. Serve it on a
// loopback or private address. Every unknown key is a question to the source; a segment.Generator
// with Options.Listed asks none. The server's own timeouts bound a slow client.
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

	// Workers gives clients their worker ids: an authority that keeps windows apart, such as
	// workernode.Leased, whatever process they are for. nil: the worker routes answer 404.
	Workers assigner.Assigner

	// Layout is that of the time-ordered ids, for decodeSnowflakeId. nil means Leaf's: 41, 10 and 12
	// bits of milliseconds since 2010-11-04T01:42:54.657Z, worker and sequence.
	Layout *bitsalloc.Layout

	// Location is the zone of the time text that decodeSnowflakeId gives; time.Local by default, as in
	// the original.
	Location *time.Location

	// Timeout is how long a call for an id may wait when there is none, above 0; 1 s by default.
	Timeout time.Duration

	// Stopping, once closed, has /health answer 503, so that a load balancer sends requests elsewhere
	// before the server closes its listener. Ids are handed out as before. nil: never.
	Stopping <-chan struct{}

	// ErrorText says how an error reads on the status page; by default it is the error's text. Several
	// requests may call it at once.
	ErrorText func(error) string

	// Logger gets the failures that a client sees as 500 or 503, at most one of each status a second:
	// an outage must not fill the disk. Silent by default.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// New returns the handler. It starts nothing and closes nothing: the generators stay the caller's.
func New(opts *Options) (http.Handler, error) {
	if opts == nil || opts.Segment == nil && opts.Snowflake == nil && opts.Workers == nil {
		return nil, errors.New("idhttp: none of Segment, Snowflake and Workers is set, want at least one")
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

// route is what the handler answers to.
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
	return []route{
		{segmentPath + "{key}", []string{get, post}, keyed(h.segment)},
		{snowflakePath + "{key}", []string{get, post}, keyed(h.snowflake)},
		{wire.RangePath + "{key}", []string{get, post}, h.ranges},
		{wire.AssignPath, []string{post}, h.assign},
		{wire.ExtendPath, []string{post}, h.extend},
		{wire.ReleasePath, []string{post}, h.release},
		{wire.NowPath, []string{post}, h.now},
		{"/decodeSnowflakeId", []string{get, head, post}, h.decode},
		{"/openapi.json", []string{get, head}, openAPI},
		{"/health", []string{get, head}, h.health},
		{"/{$}", []string{get, head}, h.page},
		{"/cache", []string{get, head}, h.page},
	}
}

// Header values that many answers share. Nobody changes them: a header is set to another slice.
var (
	noStore   = []string{"no-store"} // an id that a cache answers with is an id given twice
	noSniff   = []string{"nosniff"}
	plainText = []string{"text/plain; charset=utf-8"}
	jsonText  = []string{"application/json; charset=utf-8"}
)

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header["Cache-Control"] = noStore
	header["X-Content-Type-Options"] = noSniff
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	}
	if !h.hot(w, r) {
		h.mux.ServeHTTP(w, r)
	}
}

// maxBody bounds a request's body in bytes. A form with an id is far shorter, and one that is not
// would be kept, in files too.
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
	gates    [3]gate // of the log: failures that pass, failures that do not, worker ids
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
