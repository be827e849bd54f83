package prometheus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/uid"
)

// A service registers its generator with the registry that Prometheus scrapes.
func Example() {
	ctx := context.Background()
	gen, err := uid.NewCached(ctx, assigner.Static(1), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(uidprom.New("orders", gen))
	if _, err := gen.Fill(ctx, make([]uid.ID, 1000)); err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if m := f.GetMetric()[0]; f.GetName() == "uidring_ids_issued_total" {
			fmt.Println(f.GetName(), m.GetLabel()[0].GetValue(), m.GetCounter().GetValue())
		}
	}
	// Output:
	// uidring_ids_issued_total orders 1000
}
