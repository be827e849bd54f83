package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/service/internal/wire"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

// without returns the JSON object text without a member, or with null in its place.
func without(t *testing.T, text, member string, null bool) string {
	t.Helper()
	members := map[string]any{}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatal(err)
	}
	if delete(members, member); null {
		members[member] = nil
	}
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// routes answers each path with a text.
type routes map[string]string

func (r routes) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	answer(200, r[strings.TrimSuffix(q.URL.Path, "order")]).ServeHTTP(w, q)
}

// TestMissingFields: an answer that lacks a field, or has null in its place, is an error. A worker id
// that is missing is not 0, and a window whose end is missing is not endless. Only null says that it is.
func TestMissingFields(t *testing.T) {
	t.Parallel()
	good := routes{
		wire.RangePath:  `{"from":"5","to":"9","stride":2,"step":4,"origin":1,"cyclic":false}`,
		wire.AssignPath: `{"claim":"k","worker":3,"from":null,"until":"2999-01-01T00:00:00Z","tells_time":true}`,
		wire.ExtendPath: `{"worker":3,"from":null,"until":"2999-02-01T00:00:00Z","tells_time":true}`,
		wire.NowPath:    `{"now":"2026-01-01T00:00:00Z"}`,
	}
	ask := func(t *testing.T, h http.Handler, path string) error {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var asked atomic.Int64
		c := client(t, nil, listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h.ServeHTTP(w, r); asked.Add(1) == 3 { // Assign repeats itself
				cancel()
			}
		})))
		if path == wire.RangePath {
			_, err := c.Fetch(ctx, "order", 1)
			return err
		}
		claim, err := c.BindLayout(layout).Assign(ctx, 7)
		if err != nil {
			return err
		}
		switch path {
		case wire.ExtendPath:
			_, err = claim.Extend(ctx, time.Date(2999, 1, 2, 0, 0, 0, 0, time.UTC))
		case wire.NowPath:
			_, err = claim.(assigner.Clock).Now(ctx)
		}
		return err
	}
	for path, text := range good {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if err := ask(t, good, path); err != nil {
				t.Fatalf("with %s: %v", text, err)
			}
			members := map[string]any{}
			if err := json.Unmarshal([]byte(text), &members); err != nil {
				t.Fatal(err)
			}
			for member := range members {
				for _, null := range []bool{false, true} {
					if null && (member == "from" || member == "until") && path != wire.RangePath {
						continue
					}
					bad := routes{wire.AssignPath: good[wire.AssignPath]}
					bad[path] = without(t, text, member, null)
					want := member + " is "
					if member == "claim" {
						want = "the claim has no name"
					}
					if err := ask(t, bad, path); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("with %s: %v, want %q", bad[path], err, want)
					}
				}
			}
		})
	}
	endless := routes{wire.AssignPath: without(t, good[wire.AssignPath], "until", true)}
	claim, err := client(t, nil, listen(t, endless)).BindLayout(layout).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if from, until := claim.Window(); !from.IsZero() || !until.IsZero() {
		t.Errorf("the window is [%v, %v), want one without bounds", from, until)
	}
}

// TestTokenElsewhere: Assign goes on when one server refuses the token and the other one does not answer
// yet. When all of them refuse it, Assign fails at once.
func TestTokenElsewhere(t *testing.T) {
	t.Parallel()
	refuses := listen(t, answer(401, "want a token"))
	other := &swapped{}
	other.set(down)
	c := client(t, nil, refuses, listen(t, other))
	timer := time.AfterFunc(300*time.Millisecond, func() { other.set(serve(t, &counters{}, &claimtest.Memory{})) })
	defer timer.Stop()
	if _, err := c.BindLayout(layout).Assign(t.Context(), 7); err != nil {
		t.Errorf("Assign = %v, want a claim from the server that is back", err)
	}
	begin := time.Now()
	_, err := client(t, nil, refuses, refuses).BindLayout(layout).Assign(t.Context(), 7)
	if took := time.Since(begin); err == nil || took > 10*time.Second {
		t.Errorf("Assign at servers that refuse the token = %v after %v, want an error at once", err, took)
	}
}

// timed is an Assigner that tells the authority's time.
type timed struct {
	*claimtest.Memory
	now   func() time.Time
	asked atomic.Int64
}

func (a *timed) Now(context.Context) (time.Time, error) {
	a.asked.Add(1)
	return a.now(), nil
}

// TestHomeAway: while the server that made a claim does not answer, any other server tells the time, if
// its authority does, and another address of the same server gives the claim back. A server that does
// not know the claim does not: that is an error, and not a claim with nothing to give back.
func TestHomeAway(t *testing.T) {
	t.Parallel()
	m := &timed{Memory: &claimtest.Memory{TellTime: true},
		now: func() time.Time { return time.Unix(1800000000, 0) }}
	h := serve(t, &counters{}, m)
	home, other := &swapped{}, &swapped{}
	home.set(h)
	other.set(down)
	c := client(t, &service.ClientOptions{Timeout: time.Second}, listen(t, home), listen(t, other))
	claim, err := c.BindLayout(layout).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	home.set(down)
	other.set(serve(t, &counters{}, m))
	now, err := claim.(assigner.Clock).Now(t.Context())
	if err != nil || now.Unix() != 1800000000 || m.asked.Load() != 1 {
		t.Errorf("Now at another server = %v, %v, want that of the authority", now, err)
	}
	if err := claim.Release(t.Context(), time.Time{}); err == nil || errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Release at a server that does not know the claim = %v, want a temporary error", err)
	}
	other.set(h)
	err = claim.Release(t.Context(), time.Time{})
	if n := len(m.Calls(claimtest.OpRelease)); err != nil || n != 1 {
		t.Errorf("Release at the other address = %v and gives back %d claims, want 1", err, n)
	}
}

// TestJumpConfirmed: a jump of a client's clock is confirmed although the server was restarted since and
// knows no claim. The claim has no end, so that the client does not replace it.
func TestJumpConfirmed(t *testing.T) {
	t.Parallel()
	const jump = 3 * time.Hour
	m := &timed{Memory: &claimtest.Memory{Length: claimtest.Endless, TellTime: true},
		now: func() time.Time { return time.Now().Add(jump) }}
	home := &swapped{}
	home.set(serve(t, &counters{}, m))
	clock := uidtest.NewClock()
	g, err := uid.NewDefault(t.Context(), client(t, nil, listen(t, home)), &uid.DefaultOptions{
		Layout: compat.Twitter(), Clock: clock.Read,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	home.set(serve(t, &counters{}, m))
	clock.Step(jump)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		id, err := g.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if ahead := time.Until(g.Parse(id).Time); ahead > jump-time.Minute && m.asked.Load() > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s the jump is not confirmed: the clock is held by %v, the authority was asked %d times",
				g.Stats().ClockHeld, m.asked.Load())
		}
	}
}
