package prometheus_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

// firing returns the alerts that fire, as NAME of GENERATOR.
func (s server) firing() (map[string]bool, error) {
	var data struct {
		Alerts []struct {
			State  string
			Labels struct{ Alertname, Generator string }
		}
	}
	err := s.get("/api/v1/alerts", &data)
	firing := map[string]bool{}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			firing[a.Labels.Alertname+" of "+a.Labels.Generator] = true
		}
	}
	return firing, err
}

// exported returns a registry, and the address of a process that exports it.
func exported(t *testing.T) (*prometheus.Registry, string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	process := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(process.Close)
	return registry, process.Listener.Addr().String()
}

// TestPrometheusFires makes a running Prometheus watch real generators. No alert fires until each
// fault is injected. Then every rule fires on its own fault and no other, and the alerts of an outage
// end with it. The rules are those of docs/operations, but hold after 1 s.
func TestPrometheusFires(t *testing.T) {
	t.Parallel()
	registry, addr := exported(t)
	second, secondAddr := exported(t)
	cached := func(r *prometheus.Registry, name string, a assigner.Assigner, o uid.Options) *uid.Cached {
		t.Helper()
		g, err := uid.NewCached(t.Context(), a, &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		r.MustRegister(uidprom.New(name, g))
		return g
	}
	static := claimtest.Static(8)
	away, lost := &claimtest.Memory{Length: 3 * time.Second}, &claimtest.Memory{Length: 3 * time.Second}
	outage := cached(registry, "outage", away, uid.Options{})
	cached(registry, "lost", lost, uid.Options{})
	cached(registry, "shared", static, uid.Options{})
	waits := cached(registry, "waits", static, uid.Options{MaxLead: 2 * time.Second})
	narrow := bitsalloc.Layout{TimeBits: 35, WorkerBits: 22, SeqBits: 6}
	lead := cached(registry, "lead", static, uid.Options{Layout: narrow})
	clock := uidtest.NewClock()
	cached(registry, "clock", static, uid.Options{Clock: clock.Read})
	src := &source{}
	numbers, err := segment.New(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer numbers.Close()
	registry.MustRegister(uidprom.NewSegments("numbers", numbers, 0))
	take := func(n int) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _ = numbers.Fill(ctx, "order", make([]int64, n))
	}
	take(1)

	soon := filepath.Join(t.TempDir(), "alerts.yaml")
	text := regexp.MustCompile(`for: \w+`).ReplaceAllString(read(t, alerts), "for: 1s")
	if err := os.WriteFile(soon, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startPrometheus(t, soon, addr, secondAddr)
	// wants waits until exactly these alerts fire.
	wants := func(want ...string) {
		t.Helper()
		await(t, func() error {
			_, _ = outage.Next(t.Context())
			take(1)
			firing, err := s.firing()
			if got := slices.Sorted(maps.Keys(firing)); err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("%q fire, want %q", got, want)
			}
			return err
		})
	}
	await(t, func() error {
		n, err := s.series(`count_over_time(uidring_status{status="up"}[1m]) > 25`) // samples
		if err == nil && n != 6 {
			err = fmt.Errorf("%d generators are up, want 6", n)
		}
		return err
	})
	wants()

	away.Fail(errAway)
	lost.Lose(0)
	cached(second, "shared", static, uid.Options{})
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 50 {
		group.Go(func() { _, _ = waits.Fill(ctx, make([]uid.ID, 8192)) })
	}
	if _, err := lead.Fill(t.Context(), make([]uid.ID, 64*4000)); err != nil {
		t.Error(err)
	}
	clock.Step(3 * time.Hour)
	ends := bitsalloc.Layout{TimeBits: 24, WorkerBits: 22, SeqBits: 13, // 2^24 seconds
		Epoch: time.Now().Add(100*24*time.Hour - 1<<24*time.Second).Truncate(time.Second)}
	cached(registry, "ends", static, uid.Options{Layout: ends})
	src.away.Store(true)
	take(100_000)
	if _, err := outage.Fill(t.Context(), make([]uid.ID, 200_000)); !errors.Is(err, uid.ErrClaimExpired) {
		t.Errorf("Fill() beyond the window = %v, want %v", err, uid.ErrClaimExpired)
	}
	fired := []string{"UidClaimLost of lost", "UidClockHeld of clock", "UidDegraded of clock", "UidDown of outage",
		"UidLayoutEnds of ends", "UidLead of lead", "UidNotExtended of outage", "UidRejects of outage",
		"UidSegmentEmpty of numbers", "UidSegmentFailing of numbers", "UidWaits of waits", "UidWorkerShared of shared"}
	wants(fired...)
	for _, rule := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(fired, func(alert string) bool { return strings.HasPrefix(alert, rule[1]+" ") }) {
			t.Errorf("%s is not expected to fire", rule[1])
		}
	}
	away.Fail(nil)
	src.away.Store(false)
	wants(slices.DeleteFunc(fired, func(alert string) bool {
		return slices.Contains([]string{"UidDown of outage", "UidNotExtended of outage", "UidSegmentEmpty of numbers",
			"UidSegmentFailing of numbers"}, alert)
	})...)
}
