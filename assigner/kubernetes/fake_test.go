package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/kubernetes"
)

// object is a Lease object as the fake keeps it.
type object map[string]any

func (o object) meta(key string) string {
	m, _ := o["metadata"].(map[string]any)
	s, _ := m[key].(string)
	return s
}

func (o object) labels() map[string]any {
	m, _ := o["metadata"].(map[string]any)
	labels, _ := m["labels"].(map[string]any)
	return labels
}

func (o object) label(key string) string {
	s, _ := o.labels()[key].(string)
	return s
}

func (o object) labelled(key string) bool {
	_, ok := o.labels()[key]
	return ok
}

// fake is the part of an API server that keeps Lease objects, in memory. As a transport it answers
// without a network, also in a synctest bubble. Its methods are safe for concurrent use.
type fake struct {
	mu       sync.Mutex
	objects  map[string]object
	changes  int
	offset   time.Duration // from the local clock to the server's
	token    string        // the token that requests must carry; empty: none
	requests []string      // method, space, path
	times    []time.Time   // when each request arrived

	// before, when not nil, may answer in place of the server. after, when not nil, may return an
	// error in place of the answer.
	before func(w http.ResponseWriter, r *http.Request) (answered bool)
	after  func(r *http.Request) error
}

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/team/leases"

// status answers with a Status object, as the API server does.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`,
		reason, message, code)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	f.times = append(f.times, time.Now())
	w.Header().Set("Date", time.Now().Add(f.offset).UTC().Format(http.TimeFormat))
	name, one := strings.CutPrefix(r.URL.Path, leasesPath+"/")
	switch {
	case f.before != nil && f.before(w, r):
	case f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token:
		text := http.StatusText(http.StatusUnauthorized)
		status(w, http.StatusUnauthorized, text, text)
	case !one && r.URL.Path != leasesPath:
		http.NotFound(w, r)
	case r.Method == http.MethodGet && one:
		if o, ok := f.objects[name]; ok {
			answer(w, http.StatusOK, o)
		} else {
			status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("leases %q not found", name))
		}
	case r.Method == http.MethodGet:
		f.list(w, r)
	case one != (r.Method == http.MethodPut):
		status(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "the fake wants POST to all, and PUT to one")
	default:
		f.write(w, r, name)
	}
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	equal, has, ok := strings.Cut(r.URL.Query().Get("labelSelector"), ",")
	key, value, _ := strings.Cut(equal, "=")
	lacks := strings.HasPrefix(has, "!")
	if !ok || r.URL.Query().Has("resourceVersion") {
		status(w, http.StatusBadRequest, "BadRequest", "the fake wants a labelSelector and no resourceVersion")
		return
	}
	items := []object{}
	for _, n := range slices.Sorted(maps.Keys(f.objects)) {
		o := f.objects[n]
		if o.label(key) == value && o.labelled(strings.TrimPrefix(has, "!")) != lacks {
			items = append(items, o)
		}
	}
	answer(w, http.StatusOK, map[string]any{"kind": "LeaseList", "items": items})
}

func (f *fake) write(w http.ResponseWriter, r *http.Request, name string) {
	var o object
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	if r.Method == http.MethodPost {
		name = o.meta("name")
	}
	old, there := f.objects[name]
	conflict := !there || old.meta("uid") != o.meta("uid") ||
		old.meta("resourceVersion") != o.meta("resourceVersion")
	switch {
	case o.meta("name") != name || o.meta("namespace") != "team" || o["kind"] != "Lease",
		o["apiVersion"] != "coordination.k8s.io/v1":
		status(w, http.StatusBadRequest, "BadRequest", "the object does not match the URL")
		return
	case r.Method == http.MethodPost && there:
		status(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("leases %q already exists", name))
		return
	case r.Method == http.MethodPut && conflict:
		status(w, http.StatusConflict, "Conflict", "the object has been modified")
		return
	}
	f.changes++
	meta := o["metadata"].(map[string]any)
	meta["resourceVersion"] = fmt.Sprint(f.changes)
	if !there {
		meta["uid"] = fmt.Sprintf("uid-%d", f.changes)
	}
	if f.objects == nil {
		f.objects = map[string]object{}
	}
	f.objects[name] = o
	code := http.StatusOK
	if !there {
		code = http.StatusCreated
	}
	answer(w, code, o)
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v)
}

// RoundTrip carries out a request without a network.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	f.mu.Lock()
	after := f.after
	f.mu.Unlock()
	if after != nil {
		if err := after(r); err != nil {
			return nil, err
		}
	}
	return w.Result(), nil
}

// set changes f while requests are under way.
func (f *fake) set(change func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// cluster returns the cluster of a fake without a network.
func (f *fake) cluster() *kubernetes.Cluster {
	return &kubernetes.Cluster{Server: "http://fake", Namespace: "team",
		Client: &http.Client{Transport: f}}
}

// count returns how often want is in list.
func count(list []string, want string) (n int) {
	for _, s := range list {
		if s == want {
			n++
		}
	}
	return n
}

func newFake(*testing.T) *fake { return &fake{} }
