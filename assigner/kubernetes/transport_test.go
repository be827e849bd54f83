package kubernetes_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/lease"
)

// overTLS returns a server that answers by h and offers HTTP/2, and the Cluster of a pod that trusts it.
func overTLS(t *testing.T, h http.HandlerFunc) (*httptest.Server, *kubernetes.Cluster) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, inCluster(t, s.Listener.Addr().String(), secret, caOf(s))
}

// get makes a request of a pod, and returns the status and whether it took a connection that was there.
func get(t *testing.T, c *kubernetes.Cluster) (code int, reused bool) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, reused
}

// TestTransport: a pod's connections are of HTTP/1.1, are kept for the next request, and end with
// CloseIdleConnections. They go by the environment's proxy and have bounds.
func TestTransport(t *testing.T) {
	t.Parallel()
	_, c := overTLS(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 1 {
			t.Errorf("the request is of %s, want HTTP/1.1", r.Proto)
		}
	})
	for i, want := range []bool{false, true, false} {
		if i == 2 {
			c.Client.CloseIdleConnections()
		}
		if _, reused := get(t, c); reused != want {
			t.Errorf("request %d takes a connection that was there: %v, want %v", i, reused, want)
		}
	}
	tr := c.Transport()
	if tr.Protocols == nil || !tr.Protocols.HTTP1() || tr.Protocols.HTTP2() || tr.Protocols.UnencryptedHTTP2() {
		t.Errorf("the protocols are %v, want HTTP/1 only", tr.Protocols)
	}
	if tr.Proxy == nil || tr.TLSClientConfig.MinVersion != tls.VersionTLS12 ||
		tr.TLSHandshakeTimeout != 3*time.Second || tr.IdleConnTimeout != time.Minute || tr.MaxIdleConnsPerHost != 4 {
		t.Errorf("the transport is %+v", tr)
	}
}

// TestNoRedirect: the token goes to no server that an answer names, even if its certificate is good.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	other, _ := overTLS(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server got %q", r.Header.Get("Authorization"))
	})
	_, c := overTLS(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer "+secret {
			t.Errorf("Authorization is %q, want the token", got)
		}
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if code, _ := get(t, c); code != http.StatusTemporaryRedirect {
		t.Errorf("status %d, want the redirect itself", code)
	}
}

// body is a body that knows whether it was closed.
type body struct {
	io.Reader

	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

// TestRoundTripper: the transport keeps the rules of http.RoundTripper. It leaves the request as it is,
// and closes its body, also where there is no token and so no request.
func TestRoundTripper(t *testing.T) {
	t.Parallel()
	s, c := overTLS(t, func(http.ResponseWriter, *http.Request) {})
	for _, there := range []bool{true, false} {
		if !there {
			if err := os.Remove(c.TokenFile()); err != nil {
				t.Fatal(err)
			}
		}
		b := &body{Reader: strings.NewReader("x")}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, b)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Client.Transport.RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		if errors.Is(err, fs.ErrNotExist) == there || !b.closed || len(r.Header) != 0 {
			t.Errorf("token %v: error %v, body closed %v, header %v", there, err, b.closed, r.Header)
		}
		r.Body = nil
		if resp, err = c.Client.Transport.RoundTrip(r); err == nil {
			resp.Body.Close()
		}
		if (err == nil) != there {
			t.Errorf("token %v, no body: error %v", there, err)
		}
	}
}

// watched makes requests of a fake and keeps the bodies of its answers.
type watched struct {
	*fake

	bodies []*body
}

func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.fake.RoundTrip(r)
	if err == nil {
		b := &body{Reader: resp.Body}
		w.bodies = append(w.bodies, b)
		resp.Body = b
	}
	return resp, err
}

// TestBodiesClosed: every answer's body is closed, so that its connection can be used again.
func TestBodiesClosed(t *testing.T) {
	t.Parallel()
	w := &watched{fake: newFake(t)}
	c := w.cluster()
	c.Client.Transport = w
	assign(t, c, nil)
	for i, b := range w.bodies {
		if !b.closed {
			t.Errorf("the body of answer %d of %d is open", i, len(w.bodies))
		}
	}
}

// replies answers every request with 200 and a body, without a network.
type replies struct{ body func() io.Reader }

func (a replies) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(a.body())}, nil
}

// spaces reads as spaces without end.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte(" "), len(p))), nil }

// TestLongAnswer: an answer of 64 MiB is read, and a longer one is refused.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: takes hundreds of MiB")
	}
	const list, bound = `{"items":[]}`, 64 << 20
	for _, more := range []int64{0, 1} {
		c := &kubernetes.Cluster{Server: "http://host", Namespace: "team", Client: &http.Client{Transport: replies{
			func() io.Reader {
				return io.MultiReader(strings.NewReader(list), io.LimitReader(spaces{}, bound-int64(len(list))+more))
			}}}}
		_, err := kubernetes.NewStore(c, "orders").List(t.Context())
		if more == 0 && err != nil || more > 0 && !errors.Is(err, lease.ErrRefused) {
			t.Errorf("List of %d bytes and %d: %v, want it refused above", bound, more, err)
		}
	}
}

// TestAnswerBreaksOff: an answer whose end does not come is an error, even if what came is a whole list.
func TestAnswerBreaksOff(t *testing.T) {
	t.Parallel()
	errCut := errors.New("cut off")
	c := &kubernetes.Cluster{Server: "http://host", Namespace: "team", Client: &http.Client{Transport: replies{
		func() io.Reader { return io.MultiReader(strings.NewReader(`{"items":[]}`), iotest.ErrReader(errCut)) }}}}
	if all, err := kubernetes.NewStore(c, "orders").List(t.Context()); !errors.Is(err, errCut) {
		t.Errorf("List = %v, %v, want %v", all, err, errCut)
	}
}
