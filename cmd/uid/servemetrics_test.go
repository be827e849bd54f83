package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestServeRequestsCounted: requests are counted by route, method and status, whatever clients make up.
func TestServeRequestsCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "10")
	s := b.serve(t)
	s.ok(t, "/api/segment/get/order")
	s.ok(t, "/api/segment/get/order")
	for i := range 20 {
		s.get(t, "/api/segment/get/made-up-"+string(rune('a'+i)))
		s.get(t, "/made-up-"+string(rune('a'+i)))
		r, err := http.NewRequestWithContext(t.Context(), "MADE"+string(rune('A'+i)), s.base+"/health", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}
	metrics := s.ok(t, "/metrics")
	for _, want := range []string{
		`uid_http_requests_total{code="200",method="GET",route="/api/segment/get/{key}"} 2`,
		`uid_http_requests_total{code="404",method="GET",route="/api/segment/get/{key}"} 20`,
		`uid_http_request_duration_seconds_count{route="/api/segment/get/{key}"} 22`,
		"process_start_time_seconds ", "go_goroutines ",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if n := strings.Count(metrics, "uid_http_requests_total{"); n > 5 {
		t.Errorf("%d series of requests, want one for each route, method and status:\n%s", n, metrics)
	}

	// The rules and the dashboard use no metric that is not there.
	rules, err := os.ReadFile("../../docs/operations/serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dashboard, err := os.ReadFile("../../docs/operations/serve-dashboard.json")
	if err != nil || !json.Valid(dashboard) {
		t.Fatalf("the dashboard is no JSON, %v", err)
	}
	names := regexp.MustCompile(`\b(uid_(http|serve)_\w+|process_\w+|go_\w+)\b`)
	text := regexp.MustCompile(`(?m)^ *#.*$`).ReplaceAllString(string(rules), "") + string(dashboard)
	found := names.FindAllString(text, -1)
	slices.Sort(found)
	for _, name := range slices.Compact(found) {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("%s is in the rules or on the dashboard, and not among the metrics", name)
		}
	}
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		runbook, err := os.ReadFile("../../docs/service.md")
		if err != nil || !strings.Contains(string(runbook), alert[1]) {
			t.Errorf("docs/service.md does not say what to do about %s", alert[1])
		}
	}
}

// TestServeRules: the rules are valid, and fire on their faults; five nines can be read from the record.
func TestServeRules(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("UIDRING_REQUIRE_SERVERS") != "" {
			t.Fatal(err)
		}
		t.Skip("skipped: ", err)
	}
	rules, err := filepath.Abs("../../docs/operations/serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/serve-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "test.yaml")
	text := strings.Replace(string(cases), "[RULES]", "["+rules+"]", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}
