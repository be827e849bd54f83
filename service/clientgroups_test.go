package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/service"
)

// rooms are servers in memory, by host. It is a RoundTripper, so that a test needs no connections.
type rooms struct {
	handler http.Handler

	mu    sync.Mutex
	down  map[string]bool
	asked map[string]int
}

func (r *rooms) RoundTrip(q *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[q.URL.Host]++
	if r.down[q.URL.Host] {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	return w.Result(), nil
}

// count returns how often each server was asked since the last call.
func (r *rooms) count() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.asked
	r.asked = map[string]int{}
	return was
}

func (r *rooms) set(down ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = map[string]bool{}
	for _, host := range down {
		r.down[host] = true
	}
}

// TestGroups: clients spread over the servers of their own room, go on to the next group only while all
// of those are down, and come back by themselves.
func TestGroups(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := &rooms{handler: serve(t, &counters{}, nil), asked: map[string]int{}}
		var fleet []*service.Client
		for range 40 {
			c, err := service.NewClient([]string{"http://own1", "http://own2"}, &service.ClientOptions{
				Fallback:  [][]string{{"http://region1", "http://region2"}, {"http://other"}},
				Transport: r, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			fleet = append(fleet, c)
		}
		ask := func() map[string]int {
			t.Helper()
			for _, c := range fleet {
				if _, err := c.Fetch(t.Context(), "order", 1); err != nil {
					t.Error(err)
				}
			}
			return r.count()
		}
		only := func(when string, got map[string]int, hosts ...string) {
			t.Helper()
			total := 0
			for _, host := range hosts {
				if total += got[host]; got[host] < 5 {
					t.Errorf("%s: %v, want requests spread over %v", when, got, hosts)
				}
			}
			if total != len(fleet) || len(got) != len(hosts) {
				t.Errorf("%s: %v, want one request of each client, to %v", when, got, hosts)
			}
		}
		only("all up", ask(), "own1", "own2")
		r.set("own1")
		ask()
		only("one down", ask(), "own2")
		r.set("own1", "own2")
		ask()
		only("the room down", ask(), "region1", "region2")
		r.set("own1", "own2", "region1", "region2")
		ask()
		only("the region down", ask(), "other")
		if n := strings.Count(log.String(), "preferred servers do not answer"); n != 2*len(fleet) {
			t.Errorf("the log says %d times that preferred servers do not answer, want twice for each client", n)
		}
		// Each is tried again now and then, and at least once a minute.
		for range 10 {
			time.Sleep(time.Minute)
			if got := ask(); got["own1"]+got["own2"] == 0 {
				t.Errorf("after a minute %v, want the own room asked again", got)
			}
		}
		r.set()
		time.Sleep(time.Minute)
		only("all up again", ask(), "own1", "own2")
		if n := strings.Count(log.String(), "back at preferred servers"); n != len(fleet) {
			t.Errorf("the log says %d times that preferred servers answer, want once for each client", n)
		}
	})
	for want, groups := range map[string][][]string{
		"Fallback[0] is empty":             {{}},
		"Fallback[1][1] is not an address": {{"http://a"}, {"http://b", "x"}},
	} {
		_, err := service.NewClient([]string{"http://a"}, &service.ClientOptions{Fallback: groups})
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("NewClient with %v = %v, want an error with %q", groups, err, want)
		}
	}
}
