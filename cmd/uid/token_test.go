package main

import (
	"net/http"
	"strings"
	"testing"
)

// TestServeToken: with a token, only /health is answered without it. An address that is not loopback
// needs a token, or --open.
func TestServeToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		b.check(t, exitUsage, "", "is not loopback", "serve", "--addr", addr)
	}
	newBench(t).serve(t, "--only", "snowflake", "--open")
	b.env["UID_TOKEN"] = "s3cret"
	s := b.serve(t, "--only", "snowflake")
	s.ok(t, "/health")
	for _, path := range []string{"/metrics", "/debug/uid"} {
		if w := answered(t, s, http.MethodPost, path, "Bearer s3cret"); w != http.StatusMethodNotAllowed {
			t.Errorf("POST %s is %d, want 405", path, w)
		}
		if w := answered(t, s, http.MethodHead, path, "Bearer s3cret"); w != http.StatusOK {
			t.Errorf("HEAD %s is %d, want 200", path, w)
		}
	}
	for _, path := range []string{
		"/", "/api/snowflake/get/a", "/api/snowflake/get/a?count=2", "/metrics", "/debug/uid", "//health",
	} {
		for _, header := range []string{"", "s3cret", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret",
			"Bearer S3cret"} {
			if status := authorized(t, s, path, header); status != http.StatusUnauthorized {
				t.Errorf("%s with %q is %d, want 401", path, header, status)
			}
		}
	}
	for _, path := range []string{"/", "/api/snowflake/get/a", "/metrics"} {
		for _, header := range []string{"Bearer s3cret", "bearer s3cret"} { // RFC 9110: of any case
			if status := authorized(t, s, path, header); status != http.StatusOK {
				t.Errorf("%s with %q is %d, want 200", path, header, status)
			}
		}
	}
	if strings.Contains(s.stderr(), "s3cret") {
		t.Errorf("stderr shows the token: %s", s.stderr())
	}
}

// authorized returns the status of a GET with the given Authorization header.
func authorized(t *testing.T, s *served, path, header string) int {
	t.Helper()
	return answered(t, s, http.MethodGet, path, header)
}

// answered is authorized for another method.
func answered(t *testing.T, s *served, method, path, header string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", header)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestHealthWithoutToken: /health names the tags with problems to clients with the token only.
func TestHealthWithoutToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env["UID_TOKEN"] = "s3cret"
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10", "--next", "9223372036854775807")
	s := b.serve(t, "--only", "segment")
	if status := authorized(t, s, "/api/segment/get/order", "Bearer s3cret"); status == http.StatusOK {
		t.Fatalf("a tag without a valid step is %d", status)
	}
	if _, got := s.get(t, "/health"); strings.Contains(got, "order") || !strings.Contains(got, `"1 tag: down"`) {
		t.Errorf("/health without the token is %s, want a number and no name", got)
	}
}

// TestLocalHost: on loopback without a token, only requests to an address or to localhost are
// answered. A token makes up for the name.
func TestLocalHost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	status := func(s *served, host string) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/api/snowflake/get/a", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Authorization", "Bearer s3cret")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	s := b.serve(t, "--only", "snowflake")
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "127.0.0.1": 200, "[::1]:8080": 200, "[::1]": 200, "localhost:8080": 200,
		"LOCALHOST": 200, "evil.example:8080": 403, "evil.example": 403, "127.0.0.1.evil.example": 403,
	} {
		if got := status(s, host); got != want {
			t.Errorf("Host %q is %d, want %d", host, got, want)
		}
	}
	b.env["UID_TOKEN"] = "s3cret"
	if got := status(b.serve(t, "--only", "snowflake"), "ids.example"); got != 200 {
		t.Errorf("a name with the token is %d, want 200", got)
	}
}
