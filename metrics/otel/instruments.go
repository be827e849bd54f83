// Package otel exports the statistics of generators to OpenTelemetry, as observable instruments.
//
//	registration, err := otel.Register(meter, "orders", gen)
//
// It adds no work per id and starts no goroutine: it reads the figures when the meter's reader
// collects. Alert rules and a dashboard are in docs/operations.
package otel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"

	"github.com/uidring/uidring/metrics/internal/metric"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// source has the statistics of a generator.
type source interface{ Stats() uid.Stats }

// Register creates the instruments of gen, a uid.Generator. name is the value of the attribute
// generator, which distinguishes the generators of a process. They may share a meter. Unregister of
// the result ends the observation.
func Register(meter api.Meter, name string, gen source) (api.Registration, error) {
	return register(meter, name, metric.Generator(),
		func() []uid.Stats { return []uid.Stats{gen.Stats()} },
		func(uid.Stats) []attribute.KeyValue { return nil })
}

// segments has the statistics of a segment generator.
type segments interface{ Stats() segment.Stats }

// RegisterSegments creates the instruments of gen, a *segment.Generator, with the attribute tag.
// Tags beyond the first maxTags are added up under the tag "(other)"; 0 means 100.
func RegisterSegments(
	meter api.Meter, name string, gen segments, maxTags int,
) (api.Registration, error) {
	seen := &metric.Tags{Max: maxTags}
	tags, err := register(meter, name, metric.Tag(),
		func() []segment.TagStats { return seen.Fold(gen.Stats().Tags) },
		func(s segment.TagStats) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String("tag", s.Tag)}
		})
	if err != nil {
		return nil, err
	}
	all, err := register(meter, name, metric.Segments(),
		func() []segment.Stats { return []segment.Stats{gen.Stats()} },
		func(segment.Stats) []attribute.KeyValue { return nil })
	if err != nil {
		return nil, errors.Join(err, tags.Unregister())
	}
	return both{tags: tags, all: all}, nil
}

// both is two registrations that end as one.
type both struct {
	embedded.Registration
	tags, all api.Registration
}

// Unregister ends the observation of both.
func (b both) Unregister() error { return errors.Join(b.tags.Unregister(), b.all.Unregister()) }

// register creates an instrument for each figure. It observes each S that read returns.
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
				own := shared // WithAttributes copies it
				if f.Label != "" {
					own = append(own, attribute.String(f.Label, f.Value(s)))
				}
				o.ObserveFloat64(instruments[i], v, api.WithAttributes(own...))
			}
		}
		return nil
	}
	return meter.RegisterCallback(observe, observables...)
}
