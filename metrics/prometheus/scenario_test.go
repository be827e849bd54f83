package prometheus_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/uidring/uidring/bitsalloc"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/uid"
)

// interval is the time between two scrapes of a scenario.
const interval = 15 * time.Second

// scenario is a period of simulated time in which generators run, are scraped, and meet a fault.
type scenario struct {
	t          *testing.T
	start      time.Time
	registries map[string]*prometheus.Registry // by instance
	env        map[string]string               // by instance: the target's label env
	series     map[string][]string             // by promtool's notation: a value for each scrape
	scrapes    int
	expect     []string // promtool's tests of which alerts fire
}

// play runs a scenario in a synctest bubble. promtool then evaluates the rules on the scraped series.
func play(t *testing.T, run func(s *scenario)) {
	t.Parallel()
	promtool := program(t, "promtool")
	s := &scenario{t: t, registries: map[string]*prometheus.Registry{},
		env: map[string]string{}, series: map[string][]string{}}
	synctest.Test(t, func(t *testing.T) {
		outer := s.t
		s.t, s.start = t, time.Now()
		run(s)
		s.t = outer
	})
	rules, err := filepath.Abs(alerts)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(s.yaml(rules)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// program finds a program of the Debian package prometheus, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skipf("skipped: %s suite: make test-all runs it", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("UIDRING_REQUIRE_SERVERS") == "1" {
			t.Fatalf("%s not found in PATH", name)
		}
		t.Skipf("skipped: Prometheus suite: %s not found in PATH", name)
	}
	return path
}

// layout returns a layout whose epoch lies before the time of a bubble.
func layout() bitsalloc.Layout {
	return bitsalloc.Layout{Epoch: time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC)}
}

// add registers a collector with an instance.
func (s *scenario) add(instance string, c prometheus.Collector) {
	if s.registries[instance] == nil {
		s.registries[instance] = prometheus.NewPedanticRegistry()
	}
	s.registries[instance].MustRegister(c)
}

// gen makes the instance a export a generator called orders.
func (s *scenario) gen(g interface{ Stats() uid.Stats }) { s.add("a", uidprom.New("orders", g)) }

// run lets d pass, and calls each before every scrape.
func (s *scenario) run(d time.Duration, each func()) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		if each != nil {
			each()
		}
		synctest.Wait()
		s.scrape()
		time.Sleep(interval)
	}
}

// scrape adds a value to every series.
func (s *scenario) scrape() {
	for _, instance := range slices.Sorted(maps.Keys(s.registries)) {
		families, err := s.registries[instance].Gather()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				s.value(instance, f, m)
			}
		}
	}
	s.scrapes++
	for name, values := range s.series { // for series of closed generators
		for len(values) < s.scrapes {
			values = append(values, "stale")
		}
		s.series[name] = values
	}
}

// value adds one value. Timestamps become relative to start, because promtool's time begins at 0.
func (s *scenario) value(instance string, f *dto.MetricFamily, m *dto.Metric) {
	v := m.GetGauge().GetValue() + m.GetCounter().GetValue()
	if strings.HasSuffix(f.GetName(), "_timestamp_seconds") {
		v -= float64(s.start.Unix())
	}
	labels := []string{`job="shop"`, fmt.Sprintf("instance=%q", instance)}
	if env := s.env[instance]; env != "" {
		labels = append(labels, fmt.Sprintf("env=%q", env))
	}
	for _, l := range m.GetLabel() {
		labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
	values := s.series[name]
	for len(values) < s.scrapes { // before the series began
		values = append(values, "_")
	}
	s.series[name] = append(values, fmt.Sprint(v))
}

// fires expects exactly these alerts to fire now.
func (s *scenario) fires(alerts ...string) {
	s.check(`count by (alertname) (ALERTS{alertstate="firing"})`, alerts)
}

// fired expects exactly these alerts to have fired at some time until now.
func (s *scenario) fired(alerts ...string) {
	s.check(`count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1d]))`, alerts)
}

func (s *scenario) check(expr string, alerts []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "      - expr: '%s > bool 0'\n        eval_time: %ds\n",
		expr, (s.scrapes-1)*int(interval/time.Second))
	if len(alerts) > 0 {
		b.WriteString("        exp_samples:\n")
	}
	for _, a := range alerts {
		fmt.Fprintf(&b, "          - {labels: '{alertname=%q}', value: 1}\n", a)
	}
	s.expect = append(s.expect, b.String())
}

// yaml returns promtool's test file.
func (s *scenario) yaml(rules string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule_files: [%q]\nevaluation_interval: %v\ntests:\n  - interval: %v\n    "+
		"input_series:\n", rules, interval, interval)
	for _, name := range slices.Sorted(maps.Keys(s.series)) {
		fmt.Fprintf(&b, "      - series: '%s'\n        values: '%s'\n", name, strings.Join(s.series[name], " "))
	}
	b.WriteString("    promql_expr_test:\n" + strings.Join(s.expect, ""))
	return b.String()
}
