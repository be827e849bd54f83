package otel_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	uidotel "github.com/uidring/uidring/metrics/otel"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt")

// fixed is a Source whose figures are all different.
type fixed struct{}

func (fixed) Stats() uid.Stats {
	at := func(n int64) time.Time { return time.Unix(1_800_000_000+n, 500e6) }
	return uid.Stats{
		Worker: 1, WindowUntil: at(2), IDsUntil: at(3), LastExtended: at(4), Expires: at(5),
		Lead: 6500 * time.Millisecond, Lag: 7 * time.Second, ClockHeld: 8 * time.Hour,
		Claims: 9, ClaimsLost: 10, Extends: 11, ExtendFailures: 12, ExtendErr: errors.New("away"),
		Waits: 13, Waited: 14250 * time.Millisecond, RejectsEmpty: 15, RejectsLead: 16, RejectsClaim: 17,
		RejectsExhausted: 18, RejectsRollback: 19, RejectsPut: 20, Issued: 21, RunsTaken: 22, RunsStale: 23,
		PadderRuns: 24, Pads: 25, Len: 26, Cap: 27, RunLength: 28,
	}
}

// tags is a source of three tags.
type tags struct{}

func (tags) Stats() (s segment.Stats) {
	s.ListErr = errors.New("away")
	for i := range int64(3) {
		s.Tags = append(s.Tags, segment.TagStats{Tag: fmt.Sprintf("tag %d", i), Left: 100 + i, Step: 200 + i,
			Fetches: 400 + i, Failures: 500 + i, Waits: 600 + i, LastFetch: time.Unix(700+i, 0), Issued: 800 + i})
	}
	return s
}

// collect returns a line for each figure that reader collects.
func collect(t *testing.T, reader *metric.ManualReader) string {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	var lines []string
	add := func(m metricdata.Metrics, kind string, points []metricdata.DataPoint[float64]) {
		for _, p := range points {
			lines = append(lines, fmt.Sprintf("%s %s %q {%s} %v # %s", m.Name, kind, m.Unit,
				p.Attributes.Encoded(attribute.DefaultEncoder()), p.Value, m.Description))
		}
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Gauge[float64]:
				add(m, "gauge", d.DataPoints)
			case metricdata.Sum[float64]:
				if !d.IsMonotonic || d.Temporality != metricdata.CumulativeTemporality {
					t.Errorf("%s is no counter", m.Name)
				}
				add(m, "counter", d.DataPoints)
			default:
				t.Errorf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// TestRegister compares every instrument, attribute and value with testdata/metrics.txt, and checks
// that Unregister ends the observation.
func TestRegister(t *testing.T) {
	t.Parallel()
	const file = "testdata/metrics.txt"
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")
	orders, err := uidotel.Register(meter, "orders", fixed{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uidotel.Register(meter, "users", fixed{}); err != nil {
		t.Fatal(err)
	}
	numbers, err := uidotel.RegisterSegments(meter, "numbers", tags{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := collect(t, reader)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant what %s has", got, file)
	}
	if err := errors.Join(orders.Unregister(), numbers.Unregister()); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, reader); strings.Contains(got, "generator=orders") ||
		strings.Contains(got, "generator=numbers") ||
		!strings.Contains(got, "generator=users") {
		t.Errorf("after Unregister\n%s", got)
	}
}
