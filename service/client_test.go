package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// counters is a segment.Source in memory. A tag whose name begins with "no" is unknown.
type counters struct {
	mu   sync.Mutex
	next map[string]int64
	err  error
}

func (s *counters) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return segment.Range{}, ctx.Err()
	case s.err != nil:
		return segment.Range{}, s.err
	case strings.HasPrefix(tag, "no"):
		return segment.Range{}, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	case s.next == nil:
		s.next = map[string]int64{}
	}
	if step == 0 {
		step = 100
	}
	r := segment.Range{From: s.next[tag], To: s.next[tag] + 2*step, Stride: 2, Step: 100, Origin: 3}
	s.next[tag] = r.To
	return r, nil
}

// service returns the handler of a server over a source and an authority.
func serve(tb testing.TB, src segment.Source, a assigner.Assigner) http.Handler {
	tb.Helper()
	g, err := segment.New(tb.Context(), src, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close() })
	h, err := service.NewHandler(&service.HandlerOptions{Segment: g, Workers: a})
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// listen serves h and returns its address.
func listen(tb testing.TB, h http.Handler) string {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL
}

// client returns a Client of servers.
func client(tb testing.TB, o *service.ClientOptions, servers ...string) *service.Client {
	tb.Helper()
	c, err := service.NewClient(servers, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// gone returns an address that refuses connections.
func gone(tb testing.TB) string {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// TestSourceConformance: ranges over HTTP keep the rules of a source, with one server and with two.
func TestSourceConformance(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			t.Parallel()
			src, addresses := &counters{}, []string{gone(t)}
			for range servers {
				addresses = append(addresses, listen(t, serve(t, src, nil)))
			}
			segmenttest.Run(t, segmenttest.Config{
				Open:    func(tb testing.TB) segment.Source { return client(tb, nil, addresses...) },
				Tag:     "order",
				Unknown: "nobody",
			})
		})
	}
}

// TestAssignerConformance: claims over HTTP keep the rules of an authority, with one server, and with
// two servers and an address that refuses connections.
func TestAssignerConformance(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{1, 2} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			t.Parallel()
			start := func(tb testing.TB, m *claimtest.Memory) func() assigner.Assigner {
				addresses := []string{}
				if servers > 1 {
					addresses = append(addresses, gone(tb))
				}
				for range servers {
					addresses = append(addresses, listen(tb, serve(tb, &counters{}, m)))
				}
				return func() assigner.Assigner { return client(tb, nil, addresses...).BindLayout(layout) }
			}
			assignertest.Run(t, assignertest.Factory{
				Authority: func(tb testing.TB) func() assigner.Assigner {
					return start(tb, &claimtest.Memory{TellTime: true})
				},
				Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
					m := &claimtest.Memory{}
					return start(tb, m), m.Step
				},
			})
		})
	}
}

// TestFields: every field of a range arrives, for every tag that a path can hold.
func TestFields(t *testing.T) {
	t.Parallel()
	c := client(t, nil, listen(t, serve(t, &counters{}, nil))+"/")
	for _, tag := range []string{
		"order", "a/b", ".", "..", "...", "%2E", "订单 1", "a?b=c#d", strings.Repeat("x", 128),
	} {
		want := segment.Range{From: 0, To: 14, Stride: 2, Step: 100, Origin: 3}
		if r, err := c.Fetch(t.Context(), tag, 7); r != want || err != nil {
			t.Errorf("Fetch(%q) = %+v, %v, want %+v", tag, r, err, want)
		}
	}
	if r, err := c.Fetch(t.Context(), "\xff", 7); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Fetch of a tag that is not UTF-8 = %+v, %v, want ErrUnknownTag", r, err)
	}
}

// answer returns a handler that gives every request the same answer.
func answer(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// layout is the layout that the tests claim worker ids for.
const layout = "41-10-12-0/1ms@2026-01-01T00:00:00Z"

// TestFailOver: a Client passes over a server that does not answer as an id service does. From then on
// it starts with the server that answered. If there is no other server, the error is temporary.
func TestFailOver(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	var asked atomic.Int64
	count := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			h.ServeHTTP(w, r)
		})
	}
	const maxWorker = 1000
	asks := map[string]func(ctx context.Context, c *service.Client) (any, error){
		"fetch": func(ctx context.Context, c *service.Client) (any, error) {
			return c.Fetch(ctx, "order", 1)
		},
		"assign": func(ctx context.Context, c *service.Client) (any, error) {
			return c.BindLayout(layout).Assign(ctx, maxWorker)
		},
	}
	good := listen(t, serve(t, &counters{}, &claimtest.Memory{}))
	for name, bad := range map[string]http.Handler{
		"a page":        answer(200, "<html>welcome</html>"),
		"an error page": answer(502, "<html>bad gateway</html>"),
		"no segments":   serve(t, &counters{err: errors.New("dial tcp: connection refused")}, nil),
		"hangs": http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // from then on net/http notices that the client goes
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}),
		"hangs up":          down,
		"refuses":           answer(401, "want a token"),
		"empty":             answer(200, `{}`),
		"null":              answer(200, `null`),
		"endless":           answer(200, strings.Repeat(" ", 1<<20)),
		"empty range":       answer(200, `{"from":"5","to":"5","stride":1,"step":0,"origin":0,"cyclic":false}`),
		"long range":        answer(200, `{"from":"5","to":"9999999999","stride":1,"step":0,"origin":0,"cyclic":false}`),
		"claim, no name":    answer(200, `{"worker":3,"from":null,"until":null,"tells_time":true}`),
		"claim, no window":  answer(200, claimText(3, "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z")),
		"claim, worker -1":  answer(200, claimText(-1, "2026-01-02T00:00:00Z", "2999-01-02T00:00:00Z")),
		"claim, bad span":   answer(200, spanText(-1)),
		"claim, long span":  answer(200, spanText(9223372036855)),
		"claim, worker max": answer(200, claimText(1001, "2026-01-02T00:00:00Z", "2999-01-02T00:00:00Z")),
	} {
		for what, ask := range asks {
			t.Run(name+", "+what, func(t *testing.T) {
				asked.Store(0)
				address := listen(t, count(bad))
				c := client(t, &service.ClientOptions{Timeout: time.Second}, address, good)
				for range 20 { // the first is sent to either server
					if _, err := ask(t.Context(), c); err != nil {
						t.Fatal(err)
					}
				}
				if n := asked.Load(); n > 1 {
					t.Errorf("the server was asked %d times, want at most once", n)
				}
				alone := client(t, &service.ClientOptions{Timeout: 200 * time.Millisecond}, address)
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				got, err := ask(ctx, alone)
				if err == nil {
					t.Errorf("got %v, want an error", got)
				}
				for _, final := range []error{segment.ErrBadRange, assigner.ErrWorkersExhausted} {
					if errors.Is(err, final) {
						t.Errorf("%v, want a temporary error", err)
					}
				}
			})
		}
	}
	close(stop)
}

// claimText returns an answer with a claim.
func claimText(worker int, from, until string) string {
	return fmt.Sprintf(`{"claim":"k","worker":%d,"from":%q,"until":%q,"tells_time":true}`, worker, from, until)
}

// spanText returns an answer with a claim on worker id 3 without an end, and its span in milliseconds.
func spanText(span int64) string {
	return fmt.Sprintf(`{"claim":"k","worker":3,"from":null,"until":null,"tells_time":false,"span_ms":%d}`, span)
}

// TestErrors: a refusal for all servers wraps an error of package segment. When each server fails for
// itself, the error has what each of them said.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range []error{segment.ErrExhausted, segment.ErrBadRange} {
		c := client(t, nil, listen(t, serve(t, &counters{err: fmt.Errorf("row: %w", kind)}, nil)))
		if _, err := c.Fetch(t.Context(), "order", 1); !errors.Is(err, kind) {
			t.Errorf("Fetch = %v, want %v", err, kind)
		}
	}
	c := client(t, nil, gone(t), listen(t, answer(503, "{}")))
	_, err := c.Fetch(t.Context(), "order", 1)
	for _, want := range []string{"connection refused", "status 503", "; "} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Fetch = %v, want %q in it, on one line", err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	a, err := c.BindLayout(layout).Assign(ctx, 7)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Assign = %v, %v, want DeadlineExceeded and the reason", a, err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("Assign took %v, want 300 ms", took)
	}
}

// TestToken: only the servers of New receive the token, and no error shows it.
func TestToken(t *testing.T) {
	t.Parallel()
	const token = "s3cret"
	var seen atomic.Int64
	thief := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		http.Error(w, r.Header.Get("Authorization"), http.StatusNotFound)
	}))
	h := serve(t, &counters{}, &claimtest.Memory{})
	guarded := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "want a token", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	}))
	if _, err := client(t, &service.ClientOptions{Token: token}, guarded).Fetch(t.Context(), "order", 1); err != nil {
		t.Errorf("Fetch with the token: %v", err)
	}
	away := listen(t, http.RedirectHandler(thief, http.StatusTemporaryRedirect))
	for _, address := range []string{guarded, away, gone(t)} {
		c := client(t, &service.ClientOptions{Token: token + "2"}, address)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := c.Fetch(ctx, "order", 1)
		_, assignErr := c.BindLayout(layout).Assign(ctx, 7)
		for _, err := range []error{err, assignErr} {
			if err == nil || strings.Contains(err.Error(), token) {
				t.Errorf("%s: %v, want an error without the token", address, err)
			}
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("a server that is not one of New's was asked %d times", n)
	}
}

// TestNew: the error for an invalid argument names it and shows no secret.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		servers []string
		o       *service.ClientOptions
		want    string
	}{
		{nil, nil, "servers is empty"},
		{[]string{"http://a", "b:8080"}, nil, "servers[1]"},
		{[]string{"a:8080"}, nil, "servers[0]"},
		{[]string{"ftp://a"}, nil, "servers[0]"},
		{[]string{"http://"}, nil, "servers[0]"},
		{[]string{"http://me:hunter2@a"}, nil, "servers[0]"},
		{[]string{"http://a?token=hunter2"}, nil, "servers[0]"},
		{[]string{"http://a/#hunter2"}, nil, "servers[0]"},
		{[]string{"http://hunter2%zz"}, nil, "servers[0]"},
		{[]string{"http://a"}, &service.ClientOptions{Timeout: -1}, "Timeout is -1ns, want above 0"},
		{[]string{"http://a"}, &service.ClientOptions{Token: "hunter2\n"}, "Token"},
	} {
		_, err := service.NewClient(tt.servers, tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New(%q, %+v) = %v, want %q", tt.servers, tt.o, err, tt.want)
		}
	}
}

// TestString: the text of a Client, which generators show as their authority, has the servers and no
// secret.
func TestString(t *testing.T) {
	t.Parallel()
	c := client(t, &service.ClientOptions{Token: "hunter2"}, "http://ids-1:8080/", "https://example.com/ids")
	const want = "the id service at http://ids-1:8080,https://example.com/ids"
	if got := fmt.Sprint(c); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	home := listen(t, serve(t, &counters{}, &claimtest.Memory{}))
	c = client(t, nil, home)
	g, err := uid.NewDefault(t.Context(), c, &uid.DefaultOptions{Layout: compat.Twitter()})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if got := g.Stats().Authority; got != "the id service at "+home {
		t.Errorf("Stats().Authority = %q, want the server's address", got)
	}
}
