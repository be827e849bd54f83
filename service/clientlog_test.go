package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/service/internal/wire"
)

// TestAwayLog: the log has a line when no server answers any more, and one when a server answers again.
func TestAwayLog(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var away atomic.Bool
	well := serve(t, &counters{}, nil)
	address := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "a proxy", http.StatusBadGateway)
			return
		}
		well.ServeHTTP(w, r)
	}))
	c := client(t, &service.ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}, gone(t), address)
	fetch := func(ctx context.Context, want string) {
		t.Helper()
		log.Reset()
		_, err := c.Fetch(ctx, "order", 0)
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("after %v the log has %q, want %q", err, got, want)
		}
	}
	fetch(t.Context(), "")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	fetch(canceled, "")
	away.Store(true)
	fetch(t.Context(), `level=WARN msg="service: no server answers" error="`)
	fetch(t.Context(), "")
	away.Store(false)
	fetch(t.Context(), `level=INFO msg="service: a server answers again" server=`+address)
	fetch(t.Context(), "")
}

// reader copies what is read of a body to a buffer.
type reader struct {
	io.ReadCloser

	copy *bytes.Buffer
}

func (r reader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.copy.Write(b[:n])
	return n, err
}

// TestOwnerSent: a claim names its client by host, process and program, or by Options.Owner.
func TestOwnerSent(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]string{"": host + " pid ", "orders-7": `"owner":"orders-7"`} {
		var body bytes.Buffer
		well := serve(t, &counters{}, &claimtest.Memory{})
		address := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == wire.AssignPath {
				r.Body = reader{r.Body, &body}
			}
			well.ServeHTTP(w, r)
		}))
		a := client(t, &service.ClientOptions{Owner: owner}, address).BindLayout("41-10-12-0/1ms@2026-01-01T00:00:00Z")
		if _, err := a.Assign(t.Context(), 7); err != nil || !strings.Contains(body.String(), want) {
			t.Errorf("the claim %s, %v, want %s in it", body.String(), err, want)
		}
	}
}

// TestHeaderBound: an answer with headers without end is an error after 64 KiB of them.
func TestHeaderBound(t *testing.T) {
	t.Parallel()
	c := client(t, nil, listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 100<<10))
		answer(200, `{"from":"1","to":"11","stride":1,"step":10,"origin":0,"cyclic":false}`).ServeHTTP(w, nil)
	})))
	_, err := c.Fetch(t.Context(), "order", 0)
	if err == nil || !strings.Contains(err.Error(), "headers exceeded") {
		t.Errorf("an answer with 100 KiB of headers: %v, want an error", errors.Unwrap(err))
	}
}
