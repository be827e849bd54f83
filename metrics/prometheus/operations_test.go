package prometheus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uidring/uidring/internal/claimtest"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// dashboard has the fields of a Grafana dashboard that the test reads.
type dashboard struct {
	Panels []struct {
		ID                 int
		Title, Description string
		GridPos            struct{ X, Y, W, H int }
		Targets            []struct{ Expr string }
	}
}

// server is a Prometheus that a test has started.
type server struct {
	t    *testing.T
	addr string
}

// get decodes the data of a response of Prometheus' API.
func (s server) get(path string, into any) error {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.addr+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", res.Status, body)
	}
	return json.Unmarshal(body, &struct{ Data any }{into})
}

// series returns the number of series in the result of an expression.
func (s server) series(expr string) (int, error) {
	var data struct{ Result []json.RawMessage }
	err := s.get("/api/v1/query?query="+url.QueryEscape(expr), &data)
	return len(data.Result), err
}

// rules returns the state of each alert: inactive, pending or firing.
func (s server) rules() (map[string]string, error) {
	var data struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	if err := s.get("/api/v1/rules", &data); err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				return nil, fmt.Errorf("rule %+v, want health ok", r)
			}
			states[r.Name] = r.State
		}
	}
	return states, nil
}

// alerts is the file with the rules.
const alerts = "../../docs/operations/alerts.yaml"

// startPrometheus starts a Prometheus with the rules of a file, which scrapes targets.
func startPrometheus(t *testing.T, file string, targets ...string) server {
	t.Helper()
	binary := program(t, "prometheus")
	dir := t.TempDir()
	rules, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 200ms, evaluation_interval: 200ms}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: shop, static_configs: [{targets: [%s]}]}]\n", rules,
		strings.Join(targets, ", "))
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server{t, l.Addr().String()}
	l.Close()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+s.addr)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return s
}

// await calls look until it returns nil. After a minute it reports look's error.
func await(t *testing.T, look func() error) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := look()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Error(err)
			return
		}
	}
}

// TestPrometheus makes a real Prometheus load the rules and scrape a process, and runs every query of
// the dashboard.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	cached, err := uid.NewCached(t.Context(), &claimtest.Memory{Length: time.Hour}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cached.Close()
	plain, err := uid.NewDefault(t.Context(), claimtest.Static(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	numbers, err := segment.New(t.Context(), &source{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer numbers.Close()
	if _, err := numbers.Next(t.Context(), "order"); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(uidprom.New("orders", cached), uidprom.New("plain", plain),
		uidprom.NewSegments("numbers", numbers, 0))
	process := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer process.Close()
	s := startPrometheus(t, alerts, process.Listener.Addr().String())

	var board dashboard
	text, err := os.ReadFile("../../docs/operations/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for i, p := range board.Panels {
		if p.Title == "" || p.Description == "" || p.ID != i+1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d: %+v", i, p)
		}
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "1m", "$job", "shop", "$instance", ".*",
				"$generator", ".*").Replace(target.Expr)
			asked++
			await(t, func() error {
				n, err := s.series(expr)
				if err == nil && n == 0 {
					err = fmt.Errorf("%s: %s: no series", p.Title, expr)
				}
				return err
			})
		}
	}
	if asked < 10 {
		t.Errorf("the dashboard has %d queries, want at least 10", asked)
	}
	await(t, func() error {
		states, err := s.rules()
		for name, state := range states {
			if state != "inactive" {
				return fmt.Errorf("%s is %s, want inactive", name, state)
			}
		}
		if want := strings.Count(read(t, alerts), "- alert:"); err == nil && len(states) != want {
			return fmt.Errorf("%d rules are loaded, want %d", len(states), want)
		}
		return err
	})
}

// read returns the text of a file.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
