package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/service"
)

// TestClaimsForgotten: an unused claim is forgotten an hour after its window's end, one that is in use
// is not, and one that was given back is forgotten at once.
func TestClaimsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &claimtest.Memory{Length: 10 * time.Minute}
		h := newHandler(t, &service.HandlerOptions{Workers: m})
		claimed(t, h)
		used := claimed(t, h)
		for range 3 {
			time.Sleep(30 * time.Minute)
			w := send(h, "POST", "/api/worker/extend", `{`+used+`,"until":"2000-01-01T08:00:00Z"}`)
			if w.Code != 200 {
				t.Fatalf("extend = %d %s", w.Code, w.Body)
			}
		}
		given := claimed(t, h)
		if n := service.Claims(h); n != 2 {
			t.Errorf("%d claims are remembered, want the one in use and the new one", n)
		}
		w := send(h, "POST", "/api/worker/release", `{`+given+`,"worker":7,"used":null}`)
		if n := service.Claims(h); w.Code != 409 || n != 2 {
			t.Errorf("releasing another worker id = %d %s and leaves %d claims, want 409 and 2", w.Code, w.Body, n)
		}
		w = send(h, "POST", "/api/worker/release", `{`+given+`,"used":null}`)
		if n := service.Claims(h); w.Code != 200 || n != 1 {
			t.Errorf("releasing = %d %s and leaves %d claims, want 200 and 1", w.Code, w.Body, n)
		}
	})
}

// TestEndlessClaims: a claim without an end is remembered however long it is unused, because its clock
// may jump and it may be given back at any time. The number of claims is bounded all the same: the one
// that was unused for the longest time is forgotten.
func TestEndlessClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &claimtest.Memory{Length: claimtest.Endless, TellTime: true}
		h := newHandler(t, &service.HandlerOptions{Workers: m})
		unused, used := claimed(t, h), claimed(t, h)
		for range 3 {
			time.Sleep(24 * time.Hour)
			claimed(t, h) // which sweeps
		}
		if w := send(h, "POST", "/api/worker/now", `{`+used+`}`); w.Code != 200 {
			t.Errorf("now after three days = %d %s, want 200", w.Code, w.Body)
		}
		time.Sleep(time.Second)
		c, err := assigner.Static(1).Assign(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		for service.Claims(h) < service.MaxClaims {
			service.AddClaim(h, c)
		}
		service.AddClaim(h, c)
		if n := service.Claims(h); n != service.MaxClaims {
			t.Errorf("%d claims are remembered, want at most %d", n, service.MaxClaims)
		}
		for claim, want := range map[string]int{unused: 409, used: 200} {
			if w := send(h, "POST", "/api/worker/release", `{`+claim+`,"used":null}`); w.Code != want {
				t.Errorf("release of %s = %d %s, want %d", claim, w.Code, w.Body, want)
			}
		}
	})
}

// TestMissing: a request that lacks a field is refused with the field's name, and asks the authority for
// nothing. A release without its instant would give the whole window back.
func TestMissing(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{TellTime: true}
	h := newHandler(t, &service.HandlerOptions{Workers: m})
	claim := claimed(t, h)
	calls := len(m.Calls())
	_, key, _ := strings.Cut(strings.Split(claim, ",")[0], ":")
	all := map[string]string{
		"claim": key, "worker": "0", "until": `"2999-01-01T00:00:00Z"`, "used": "null",
		"max_worker": "7", "layout": `"41-10-12-0/1ms@2026-01-01T00:00:00Z"`,
	}
	for route, fields := range map[string][]string{
		"assign": {"max_worker", "layout"}, "extend": {"claim", "worker", "until"},
		"release": {"claim", "worker", "used"}, "now": {"claim", "worker"},
	} {
		for _, missing := range fields {
			for _, value := range []string{"", "null"} {
				if value == "null" && missing == "used" {
					continue
				}
				var members []string
				for _, field := range fields {
					switch {
					case field != missing:
						members = append(members, `"`+field+`":`+all[field])
					case value != "":
						members = append(members, `"`+field+`":`+value)
					}
				}
				body := "{" + strings.Join(members, ",") + "}"
				w := send(h, "POST", "/api/worker/"+route, body)
				if w.Code != 400 || !strings.Contains(w.Body.String(), missing+" is ") {
					t.Errorf("%s with %s = %d %s, want 400 with the name of the field", route, body, w.Code, w.Body)
				}
			}
		}
	}
	if n := len(m.Calls()); n != calls {
		t.Errorf("the authority was asked %d times, want never", n-calls)
	}
	w := send(h, "POST", "/api/worker/release", `{`+claim+`,"used":null}`)
	if w.Code != 200 {
		t.Errorf("release with every field = %d %s, want 200", w.Code, w.Body)
	}
}

// TestClientGone: a claim whose client goes while it is made is given back.
func TestClientGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	m := &claimtest.Memory{After: func(context.Context, claimtest.Call) error {
		cancel()
		return nil
	}}
	h := newHandler(t, &service.HandlerOptions{Workers: m})
	r := httptest.NewRequest(http.MethodPost, "/api/worker/assign", strings.NewReader(`{"max_worker":7,`+bound+`}`))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	if n := len(m.Calls(claimtest.OpRelease)); n != 1 || service.Claims(h) != 0 {
		t.Errorf("%d claims were given back and %d are remembered, want 1 and 0", n, service.Claims(h))
	}
}

// TestUnbound: a claim without a layout would be one of any layout, so it is refused and nothing is
// claimed.
func TestUnbound(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	h := newHandler(t, &service.HandlerOptions{Workers: m})
	for _, body := range []string{`{"max_worker":7}`, `{"max_worker":7,"layout":""}`} {
		w := send(h, "POST", "/api/worker/assign", body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"bad_request"`) ||
			!strings.Contains(w.Body.String(), "layout is missing") {
			t.Errorf("assign with %s = %d %s, want 400, bad_request and the field's name", body, w.Code, w.Body)
		}
	}
	if n := len(m.Calls()); n != 0 {
		t.Errorf("the authority was asked %d times, want never", n)
	}
}

// TestReach: where the authority tells no time, a window ends no further from the server's clock than
// a day, or three windows if they are longer. Where it does, it decides itself.
func TestReach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			of   *claimtest.Memory
			want time.Duration // 0: what is asked for
		}{
			{&claimtest.Memory{}, 24 * time.Hour},
			{&claimtest.Memory{Span: 10 * time.Hour}, 30 * time.Hour},
			{&claimtest.Memory{TellTime: true}, 0},
		} {
			h := newHandler(t, &service.HandlerOptions{Workers: tt.of})
			body := `{` + claimed(t, h) + `,"until":"2999-01-01T00:00:00Z"}`
			want, again := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), 200
			if tt.want != 0 {
				want, again = time.Now().Add(tt.want), 409
			}
			w := send(h, "POST", "/api/worker/extend", body)
			if text := `"` + want.UTC().Format(time.RFC3339) + `"`; w.Code != 200 || !strings.Contains(w.Body.String(), text) {
				t.Errorf("extend to 2999 = %d %s, want 200 and %s", w.Code, w.Body, text)
			}
			w = send(h, "POST", "/api/worker/extend", body)
			if w.Code != again || again == 409 && !strings.Contains(w.Body.String(), `"beyond_reach"`) {
				t.Errorf("extend to 2999 again = %d %s, want %d", w.Code, w.Body, again)
			}
			if tt.want == 0 {
				continue
			}
			for _, text := range []string{"it is 2000-01-01", "2999-01-01", "reach is " + tt.want.String()} {
				if !strings.Contains(w.Body.String(), text) {
					t.Errorf("extend to 2999 again = %s, want %q in it", w.Body, text)
				}
			}
			time.Sleep(time.Hour)
			if w = send(h, "POST", "/api/worker/extend", body); w.Code != 200 {
				t.Errorf("extend to 2999 an hour later = %d %s, want 200", w.Code, w.Body)
			}
		}
	})
}

// TestMaxWorker: a highest worker id below 0 is the client's fault, and the authority is not asked.
func TestMaxWorker(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	w := send(newHandler(t, &service.HandlerOptions{Workers: m}), "POST", "/api/worker/assign", `{"max_worker":-1,`+bound+`}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "max_worker is -1, want 0 or more") || len(m.Calls()) != 0 {
		t.Errorf("max_worker -1 = %d %s after %d calls, want 400 after none", w.Code, w.Body, len(m.Calls()))
	}
}

// broken is a body that ends with an error that names the addresses of a connection.
type broken struct{}

func (broken) Read([]byte) (int, error) {
	return 0, errors.New("read tcp 10.1.2.3:8080->10.4.5.6:50000: i/o timeout")
}

// TestBrokenBody: the answer to a body that does not arrive names no address.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/api/worker/assign", broken{})
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	newHandler(t, &service.HandlerOptions{Workers: &claimtest.Memory{}}).ServeHTTP(w, r)
	got := w.Body.String()
	if w.Code != 400 || strings.Contains(got, "10.") || !strings.Contains(got, "did not arrive") {
		t.Errorf("a body that does not arrive = %d %s, want 400 without an address", w.Code, got)
	}
}

// TestClaimLog: the log says what failed. A client whose window is not extended still has its worker
// id.
func TestClaimLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	m := &claimtest.Memory{TellTime: true}
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, &service.HandlerOptions{Workers: m, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		claim := claimed(t, h)
		m.Fail(errAway)
		for path, want := range map[string]string{
			"extend": "window not extended", "release": "worker id not given back", "now": "no time",
			"assign": "no worker id",
		} {
			time.Sleep(time.Second) // for the limit of the log
			log.Reset()
			send(h, "POST", "/api/worker/"+path,
				`{`+claim+`,"until":"2999-01-01T00:00:00Z","used":null,"max_worker":7,`+bound+`}`)
			if !strings.Contains(log.String(), `msg="service: `+want+`"`) {
				t.Errorf("the log of a failed %s is %s, want %q", path, log.String(), want)
			}
		}
	})
}

// owned is an authority that keeps the owner of the last claim.
type owned struct {
	*claimtest.Memory

	owner *string
}

func (o owned) BindLayout(string) assigner.Assigner { return o }

func (o owned) BindOwner(owner string) assigner.Assigner {
	*o.owner = owner
	return o
}

// TestOwner: the owner of a claim is the client that asks for it.
func TestOwner(t *testing.T) {
	t.Parallel()
	owner := ""
	h := newHandler(t, &service.HandlerOptions{Workers: owned{&claimtest.Memory{}, &owner}})
	for member, want := range map[string]string{
		``: "a client at 192.0.2.1:1234", `,"owner":""`: "a client at 192.0.2.1:1234",
		`,"owner":"a pid 7 b"`: "a pid 7 b",
	} {
		w := send(h, "POST", "/api/worker/assign", `{"max_worker":7,`+bound+member+`}`)
		if w.Code != 200 || owner != want {
			t.Errorf("assign with %q = %d %s for %q, want %q", member, w.Code, w.Body, owner, want)
		}
	}
}

// TestMediaType: the worker routes take JSON only. A page of another origin can make a browser send any
// other type without asking the server.
func TestMediaType(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	h := newHandler(t, &service.HandlerOptions{Workers: m})
	for kind, want := range map[string]int{
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "text/plain; a=application/json": 415,
		"application/json+x": 415, "a/b/c": 415,
		"application/json": 200, "Application/JSON; charset=utf-8": 200,
	} {
		before := len(m.Calls())
		r := httptest.NewRequest(http.MethodPost, "/api/worker/assign", strings.NewReader(`{"max_worker":7,`+bound+`}`))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if asked := len(m.Calls()) > before; w.Code != want || asked != (want == 200) {
			t.Errorf("a body of type %q = %d %s, and the authority was asked: %v; want %d",
				kind, w.Code, w.Body, asked, want)
		}
	}
}

// TestAssignWentBack: a client that starts is told to ask again where this server finds that its authority
// went back, because it has no claim that could be lost.
func TestAssignWentBack(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	h := newHandler(t, &service.HandlerOptions{Workers: m})
	m.Fail(fmt.Errorf("%w: %w", assigner.ErrClaimLost, assigner.ErrWentBack), claimtest.OpAssign)
	w := send(h, "POST", "/api/worker/assign", `{"max_worker":7,`+bound+`}`)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("assign = %d %s, want 503 and unavailable", w.Code, w.Body)
	}
}
