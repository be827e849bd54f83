package service

import (
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
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/loglimit"
	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service/internal/wire"
	"github.com/uidring/uidring/uid"
)

// HandlerOptions are the options of NewHandler. At least one of Segment, Snowflake, Numbers
// and Workers is required; a route without its generator answers 404.
type HandlerOptions struct {
	Segment   *segment.Generator
	Snowflake uid.Generator // makes time-ordered ids

	// Numbers are the numbers that people read, by name. nil: their route answers 404.
	Numbers map[string]*number.Number

	// Workers makes the claims of clients. It must keep claims apart that all come from this
	// process, as workernode.Leased does. If it is an assigner.Clock, clients can ask any server
	// for the authority's time, and otherwise only the one that made their claim. If it has a
	// method BindOwner(owner string) assigner.Assigner, that stores which client a claim is for.
	// nil: the worker routes answer 404.
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

	// Place says on the status page where the ids come from, such as the database and its tables.
	// Links are the paths of other pages that it links to.
	Place string
	Links []string

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

// NewHandler returns the handler, which is safe for concurrent use. It starts no goroutine, does no
// I/O and copies the options. The caller closes the generators, once the server has shut down. An
// option that is missing or out of range is an error that names it.
func NewHandler(opts *HandlerOptions) (http.Handler, error) {
	if opts == nil || opts.Segment == nil && opts.Snowflake == nil && opts.Workers == nil &&
		len(opts.Numbers) == 0 {
		return nil, errors.New("service: none of Segment, Snowflake, Numbers and Workers is set, " +
			"want at least one")
	}
	if err := checkNumbers(opts.Numbers); err != nil {
		return nil, err
	}
	h := &handler{HandlerOptions: *opts, begin: time.Now()}
	h.paces.start(h.begin)
	if h.Timeout == 0 {
		h.Timeout = time.Second
	}
	if h.Timeout < 0 {
		return nil, fmt.Errorf("service: Timeout is %v, want above 0", h.Timeout)
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
	layout := compat.Twitter()
	if h.Layout != nil {
		layout = *h.Layout
	}
	var err error
	if h.alloc, err = bitsalloc.New(layout); err != nil {
		return nil, fmt.Errorf("service: Layout: %w", err)
	}
	if h.template, err = parsePage(h.ErrorText); err != nil {
		return nil, fmt.Errorf("service: the page: %w", err)
	}
	h.mux = http.NewServeMux()
	for _, r := range h.routes() {
		serve := methods(r.serve, r.methods...)
		h.mux.HandleFunc(r.pattern, serve)
		if r.pattern == root {
			continue
		}
		// Leaf's server takes a slash at the end, too.
		h.mux.HandleFunc(r.pattern+root, func(w http.ResponseWriter, q *http.Request) {
			q.Pattern = r.pattern
			serve(w, q)
		})
	}
	return h, nil
}

// root is the pattern of the path that is a slash and nothing else.
const root = "/{$}"

// route is a pattern of the mux and the methods that it answers to.
type route struct {
	pattern string
	methods []string
	serve   http.HandlerFunc
}

func (h *handler) routes() []route {
	get, post, head := http.MethodGet, http.MethodPost, http.MethodHead
	id := func(f http.HandlerFunc) http.HandlerFunc { return only("count", inText, f) }
	return []route{
		{"/api/segment/get/{key}", []string{get, post}, id(h.segment)},
		{"/api/snowflake/get/{key}", []string{get, post}, id(h.snowflake)},
		{"/api/number/get/{name}", []string{get, post}, h.number},
		{wire.RangePath + "{key}", []string{post}, only("count", inFailure, h.ranges)},
		{wire.AssignPath, []string{post}, asked(h, "service: no worker id", h.assign)},
		{wire.ExtendPath, []string{post}, asked(h, "service: window not extended", h.extend)},
		{wire.ReleasePath, []string{post},
			asked(h, "service: worker id not given back", h.release)},
		{wire.NowPath, []string{post}, asked(h, "service: no time", h.now)},
		{"/decodeSnowflakeId", []string{get, head, post},
			only("snowflakeId", inErrorMsg, h.decode)},
		{"/openapi.json", []string{get, head}, openAPI},
		{"/health", []string{get, head}, h.health},
		{root, []string{get, head}, h.page},
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
	h.mux.ServeHTTP(w, r)
}

// maxBody is the most bytes of a request's body that are read. A form with an id is far shorter,
// and net/http would keep a longer one in memory and in files.
const maxBody = 4 << 10

type handler struct {
	HandlerOptions
	alloc    *bitsalloc.Allocator // of Layout
	template *template.Template
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
