package service_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// entries is a store of package lease.
type entries struct {
	mu      sync.Mutex
	byName  map[string]lease.Entry
	version int
}

func (s *entries) List(context.Context) (all []lease.Entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.byName {
		all = append(all, e)
	}
	return all, nil
}

func (s *entries) Get(_ context.Context, name string) (lease.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name], nil
}

func (s *entries) Put(_ context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[old.Name].Version != old.Version {
		return lease.Entry{}, lease.ErrConflict
	}
	if s.byName == nil {
		s.byName = map[string]lease.Entry{}
	}
	s.version++
	e := lease.Entry{Name: old.Name, Value: value, Version: strconv.Itoa(s.version)}
	s.byName[old.Name] = e
	return e, nil
}

// TestMoved: a client of a server whose store was moved claims from the server of the other store, before
// its window ends. A client of any version understands the answers: that to a claim is the one of an
// authority that is away, and that to an extension the one of a claim that is lost.
func TestMoved(t *testing.T) {
	t.Parallel()
	workers := func(s lease.Store) *lease.Assigner {
		a, err := lease.New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	from, to := workers(&entries{}), workers(&entries{})
	old := listen(t, serve(t, &counters{}, from))
	other := &swapped{}
	other.set(down)
	c := client(t, nil, old, listen(t, other))
	claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Move(t.Context(), from, to, nil); err != nil {
		t.Fatal(err)
	}
	other.set(serve(t, &counters{}, to))
	_, end := claim.Window()
	if _, err := claim.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend = %v, want ErrClaimLost, so that the client claims while its window lasts", err)
	}
	another, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil || another.Worker() == claim.Worker() {
		t.Errorf("Assign = %+v, %v, want another worker id from the other server", another, err)
	}
	response, err := http.Post(old+"/api/worker/assign", "application/json",
		strings.NewReader(`{"max_worker":7,"layout":"`+layout+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"unavailable"`) ||
		!strings.Contains(string(body), "were moved") {
		t.Errorf("assign on the old server = %d %s, want 503 unavailable, and that they were moved",
			response.StatusCode, body)
	}
}
