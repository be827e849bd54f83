package service_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/service"
)

// TestMethods: only GET and POST use an id up. A probe with another method gets 405.
func TestMethods(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service.HandlerOptions{
		Segment:   newSegments(t, map[string]*tagRow{"order": {next: 1, step: 10}}),
		Snowflake: &snowflake{id: 100},
	})
	for _, tt := range []struct {
		method, path, want string
		status             int
	}{
		{"GET", "/api/segment/get/order", "1", 200},
		{"HEAD", "/api/segment/get/order", "GET, POST", 405},
		{"OPTIONS", "/api/segment/get/order", "GET, POST", 405},
		{"DELETE", "/api/segment/get/order", "GET, POST", 405},
		{"BREW", "/api/segment/get/order", "GET, POST", 405},
		{"POST", "/api/segment/get/order", "2", 200},
		{"HEAD", "/api/snowflake/get/x", "GET, POST", 405},
		{"GET", "/api/segment/range/order", "POST", 405},
		{"POST", "/api/segment/range/order", "", 200},
		{"PUT", "/api/snowflake/get/x", "GET, POST", 405},
		{"GET", "/api/snowflake/get/x", "101", 200},
		{"HEAD", "/health", "", 200},
		{"POST", "/health", "GET, HEAD", 405},
		{"HEAD", "/", "", 200},
		{"POST", "/cache", "GET, HEAD", 405},
		{"HEAD", "/decodeSnowflakeId?snowflakeId=1", "", 200},
		{"PUT", "/decodeSnowflakeId?snowflakeId=1", "GET, HEAD, POST", 405},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		got := w.Body.String()
		if w.Code == http.StatusMethodNotAllowed {
			got = w.Header().Get("Allow")
		}
		if w.Code != tt.status || tt.want != "" && got != tt.want {
			t.Errorf("%s %s = %d %q, want %d %q", tt.method, tt.path, w.Code, got, tt.status, tt.want)
		}
	}
}

// countingReader is a body of 1 MiB that begins with head. It counts the bytes that are read.
type countingReader struct {
	head io.Reader
	n    int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.head.Read(b)
	if err == io.EOF && c.n < 1<<20 {
		for i := range b {
			b[i] = 'x'
		}
		n, err = len(b), nil
	}
	c.n += n
	return n, err
}

// TestBody: an id may come in a form of either kind. The handler stops reading a form that is too
// long.
func TestBody(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}})
	post := func(kind string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/decodeSnowflakeId", body)
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	if err := parts.WriteField("snowflakeId", "8384512"); err != nil {
		t.Fatal(err)
	}
	parts.Close()
	for kind, body := range map[string]io.Reader{
		"application/x-www-form-urlencoded": strings.NewReader(url.Values{"snowflakeId": {"8384512"}}.Encode()),
		parts.FormDataContentType():         &form,
	} {
		if w := post(kind, body); w.Code != 200 || !strings.Contains(w.Body.String(), `"workerId":"1023"`) {
			t.Errorf("%s: %d %s, want the id taken apart", kind, w.Code, w.Body)
		}
	}
	file := "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n"
	for kind, head := range map[string]string{
		"application/x-www-form-urlencoded": "snowflakeId=1",
		"multipart/form-data; boundary=b":   file,
	} {
		body := &countingReader{head: strings.NewReader(head)}
		if w := post(kind, body); w.Code != http.StatusBadRequest || body.n > 64<<10 {
			t.Errorf("%s of 1 MiB: %d after %d bytes, want 400 after a few KiB", kind, w.Code, body.n)
		}
	}
}

// TestHugeKey: a key of any length is neither echoed nor logged in full, also while the source is away.
func TestHugeKey(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("x", 1<<20)
	var log bytes.Buffer
	serve := func(timeout time.Duration, tags map[string]*tagRow) http.Handler {
		return newHandler(t, &service.HandlerOptions{
			Segment: newSegments(t, tags), Snowflake: &snowflake{err: errAway}, Timeout: timeout,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
	}
	known := serve(time.Minute, nil)
	if w := get(known, "/api/segment/get/"+key); w.Code != 404 || w.Body.Len() > 200 {
		t.Errorf("a key of 1 MiB = %d with %d bytes, want 404 with at most 200", w.Code, w.Body.Len())
	}
	for _, path := range []string{"/api/snowflake/get/", "/api/segment/get/", "/api/segment/range/"} {
		log.Reset()
		w := send(serve(time.Millisecond, map[string]*tagRow{key: {err: errAway}}), "POST", path+key, "")
		if w.Code != 503 || w.Body.Len() > 200 {
			t.Errorf("%s with a key of 1 MiB = %d with %d bytes, want 503 with at most 200", path, w.Code, w.Body.Len())
		}
		if n := log.Len(); n == 0 || n > 1000 {
			t.Errorf("%s with a key of 1 MiB logs %d bytes, want 1..1,000", path, n)
		}
	}
}

// TestLogLimit: an outage does not fill the log. It has one line of each status a second, with the
// number of lines that were left out.
func TestLogLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHandler(t, &service.HandlerOptions{
			Snowflake: &snowflake{err: errAway},
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		for range 3 {
			for range 1000 {
				if w := get(h, "/api/snowflake/get/x"); w.Code != 503 {
					t.Fatalf("status %d, want 503", w.Code)
				}
			}
			time.Sleep(time.Second)
		}
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		var unlogged []string
		for _, line := range lines {
			_, rest, _ := strings.Cut(line, "unlogged=")
			n, _, _ := strings.Cut(rest, " ")
			unlogged = append(unlogged, n)
		}
		if got, want := fmt.Sprint(unlogged), "[0 999 999]"; got != want {
			t.Errorf("%d lines, unlogged %s, want 3 lines, %s", len(lines), got, want)
		}
	})
}
