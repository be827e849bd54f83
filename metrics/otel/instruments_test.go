package otel_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/uidring/uidring/metrics/internal/metric/metrictest"
	uidotel "github.com/uidring/uidring/metrics/otel"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt")

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
	orders, err := uidotel.Register(meter, "orders", metrictest.Generator{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := uidotel.Register(meter, "users", metrictest.Generator{}); err != nil {
		t.Fatal(err)
	}
	numbers, err := uidotel.RegisterSegments(meter, "numbers", metrictest.Segments(3), 1)
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
