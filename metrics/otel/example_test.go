package otel_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/uidring/uidring/assigner"
	uidotel "github.com/uidring/uidring/metrics/otel"
	"github.com/uidring/uidring/uid"
)

// A service registers its generator with the meter that its exporter reads. Here a reader takes the
// place of the exporter.
func Example() {
	ctx := context.Background()
	gen, err := uid.NewCached(ctx, assigner.Static(1), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	registration, err := uidotel.Register(provider.Meter("shop"), "orders", gen)
	if err != nil {
		log.Fatal(err)
	}
	defer registration.Unregister()
	if _, err := gen.Fill(ctx, make([]uid.ID, 1000)); err != nil {
		log.Fatal(err)
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &data); err != nil {
		log.Fatal(err)
	}
	for _, m := range data.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[float64]); ok && m.Name == "uidring.ids_issued" {
			fmt.Println(m.Name, sum.DataPoints[0].Value)
		}
	}
	// Output:
	// uidring.ids_issued 1000
}
