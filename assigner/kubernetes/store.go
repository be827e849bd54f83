package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// store keeps entries in Lease objects. It is a lease.Store and an assigner.Clock. Its methods are
// safe for concurrent use.
type store struct {
	cluster *Cluster
	name    string
	leases  string // the collection's URL
	client  *http.Client
	gate    gate
	told    atomic.Pointer[told] // nil: no answer yet
}

func newStore(c *Cluster, name string) *store {
	s := &store{cluster: c, name: name, client: c.Client,
		leases: c.Server + "/apis/coordination.k8s.io/v1/namespaces/" + c.Namespace + "/leases"}
	if s.client == nil {
		s.client = http.DefaultClient
	}
	return s
}

// String says where the Lease objects are. It leaves out all of the server's URL but its host.
func (s *store) String() string {
	host := ""
	if u, err := url.Parse(s.cluster.Server); err == nil {
		host = u.Host
	}
	return fmt.Sprintf("kubernetes at %s, namespace %s, leases %s-*", host, s.cluster.Namespace,
		s.name)
}

// List returns the header and the slots. The request names no resourceVersion, so that the answer
// shows every change that was answered before.
func (s *store) List(ctx context.Context) ([]lease.Entry, error) {
	return s.list(ctx, "!"+noteLabel)
}

// Notes lists the notes, as List does the other entries. It implements storekind.Noter.
func (s *store) Notes(ctx context.Context) ([]int64, error) {
	entries, err := s.list(ctx, noteLabel)
	ids := make([]int64, 0, len(entries))
	for _, e := range entries {
		if id, ok := storekind.WorkerOf(e.Name, storekind.NotePrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// list returns the entries whose objects have a label, or lack it.
func (s *store) list(ctx context.Context, label string) ([]lease.Entry, error) {
	var list struct {
		Items []leaseObject `json:"items"`
	}
	query := url.Values{"labelSelector": {nameLabel + "=" + s.name + "," + label}}
	err := s.do(ctx, http.MethodGet, s.leases+"?"+query.Encode(), nil, &list)
	if err != nil {
		return nil, s.explain("listing leases", err)
	}
	entries := make([]lease.Entry, 0, len(list.Items))
	for _, l := range list.Items {
		// An object with the label and a name of another form is not the store's: leave it out.
		if e, err := s.entry(l); err == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// Fresh says that List is not old.
func (s *store) Fresh() {}

// Get returns an entry. Like List, it names no resourceVersion.
func (s *store) Get(ctx context.Context, name string) (lease.Entry, error) {
	var l leaseObject
	err := s.do(ctx, http.MethodGet, s.leases+"/"+s.object(name), nil, &l)
	var a *answerError
	if errors.As(err, &a) && a.code == http.StatusNotFound && a.kind != "" {
		return lease.Entry{Name: name}, nil
	}
	e := lease.Entry{}
	if err == nil {
		e, err = s.entry(l)
	}
	return e, s.explain("reading lease "+s.object(name), err)
}

// Put creates or updates an entry's object. The API server compares resourceVersion and uid, and
// not the value. After a restore of its etcd a resourceVersion may come back with another value: a
// process that was paused between Get and Put since before the restore would overwrite that. So
// the API servers are stopped meanwhile.
func (s *store) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	method, target, what := http.MethodPut, s.leases+"/"+s.object(old.Name), "updating lease "
	if old.Version == "" {
		method, target, what = http.MethodPost, s.leases, "creating lease "
	}
	var l leaseObject
	err := s.do(ctx, method, target, s.newLease(old, value), &l)
	var e lease.Entry
	if err == nil {
		e, err = s.entry(l)
	}
	if err == nil && (e.Name != old.Name || string(e.Value) != string(value)) {
		err = errors.New("the answer has another lease than the one that was sent")
	}
	var a *answerError
	if errors.As(err, &a) && a.conflict(method) {
		err = fmt.Errorf("%w: %w", lease.ErrConflict, err)
	}
	return e, s.explain(what+s.object(old.Name), err)
}

// Now returns the API server's time, to the second. It asks only if the last answer is older than
// that.
func (s *store) Now(ctx context.Context) (time.Time, error) {
	if t, ok := s.now(); ok {
		return t, nil
	}
	if _, err := s.Get(ctx, "header"); err != nil {
		return time.Time{}, err
	}
	t, ok := s.now()
	if !ok {
		return t, errors.New("kubernetes: the API server's answer has no Date")
	}
	return t, nil
}

// explain adds to err what was tried, and what to do if the account lacks a right.
func (s *store) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	var a *answerError
	if errors.As(err, &a) && a.code == http.StatusForbidden {
		hint = "; the account needs get, list, create and update on leases.coordination.k8s.io " +
			"in this namespace"
	}
	return fmt.Errorf("kubernetes: %s in namespace %s: %w%s", what, s.cluster.Namespace, err, hint)
}
