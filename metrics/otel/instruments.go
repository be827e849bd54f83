// Package otel exports what generators do to OpenTelemetry, as observable instruments:
//
//	registration, err := otel.Register(meter, "orders", gen)
//
// Nothing is counted per id and nothing runs: the figures are read when the meter's reader
// collects. Alert rules and a dashboard are in docs/operations.
package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/metric"

	"github.com/uidring/uidring/internal/metric"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// Source is what is measured: every uid.Generator is one.
type Source interface{ Stats() uid.Stats }

// Register makes the instruments of a generator. name is the value of the attribute generator,
// which tells the generators of a process apart; they may share a meter. Unregister ends the
// observation.
func Register(meter api.Meter, name string, gen Source) (api.Registration, error) {
	return register(meter, name, metric.Generator(),
		func() []uid.Stats { return []uid.Stats{gen.Stats()} },
		func(uid.Stats) []attribute.KeyValue { return nil })
}

// Segments is what is measured: every *segment.Generator is one.
type Segments interface{ Stats() segment.Stats }

// RegisterSegments makes the instruments of a segment generator, with the attribute tag. Tags
// beyond the first maxTags are added up under the tag "(other)"; 0 means 100.
func RegisterSegments(
	meter api.Meter, name string, gen Segments, maxTags int,
) (api.Registration, error) {
	tags := &metric.Tags{Max: maxTags}
	return register(meter, name, metric.Tag(),
		func() []segment.TagStats { return tags.Fold(gen.Stats().Tags) },
		func(s segment.TagStats) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("tag", s.Tag)}
		})
}

// register makes an instrument of each figure, observed of each S that read returns.
func register[S any](
	meter api.Meter, name string, figures []metric.Figure[S],
	read func() []S, attributes func(S) []attribute.KeyValue,
) (api.Registration, error) {
	instruments := make([]api.Float64Observable, len(figures))
	observables := make([]api.Observable, len(figures))
	for i, f := range figures {
		var err error
		if f.Counter {
			instruments[i], err = meter.Float64ObservableCounter(f.OpenTelemetry(),
				api.WithUnit(f.Unit), api.WithDescription(f.Help))
		} else {
			instruments[i], err = meter.Float64ObservableGauge(f.OpenTelemetry(),
				api.WithUnit(f.Unit), api.WithDescription(f.Help))
		}
		if err != nil {
			return nil, fmt.Errorf("otel: %s: %w", f.OpenTelemetry(), err)
		}
		observables[i] = instruments[i]
	}
	observe := func(_ context.Context, o api.Observer) error {
		for _, s := range read() {
			shared := append(attributes(s), attribute.String("generator", name))
			for i, f := range figures {
				v, ok := f.Read(s)
				if !ok {
					continue
				}
				own := shared // which no observation keeps
				if f.Label != "" {
					own = append(own, attribute.String(f.Label, f.Value))
				}
				o.ObserveFloat64(instruments[i], v, api.WithAttributes(own...))
			}
		}
		return nil
	}
	return meter.RegisterCallback(observe, observables...)
}
