// Package prometheus exports the statistics of generators to Prometheus.
//
//	registry.MustRegister(prometheus.New("orders", gen))
//
// It adds no work per id and starts no goroutine: it reads the figures when Prometheus scrapes.
// Alert rules and a dashboard are in docs/operations.
package prometheus

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/metrics/internal/metric"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// source has the statistics of a generator.
type source interface{ Stats() uid.Stats }

// New returns the collector of gen, a uid.Generator. name is the value of the label generator,
// which distinguishes the generators of a process. Their collectors may share a registry.
func New(name string, gen source) prometheus.Collector {
	c := &collector[uid.Stats]{read: func() []uid.Stats { return []uid.Stats{gen.Stats()} }}
	for _, f := range metric.Generator() {
		c.add(f, name)
	}
	return c
}

// segments has the statistics of a segment generator.
type segments interface{ Stats() segment.Stats }

// NewSegments returns the collector of gen, a *segment.Generator, with the label tag. Tags beyond
// the first maxTags are added up under the tag "(other)"; 0 means 100.
func NewSegments(name string, gen segments, maxTags int) prometheus.Collector {
	seen := &metric.Tags{Max: maxTags}
	tags := &collector[segment.TagStats]{
		read: func() []segment.TagStats { return seen.Fold(gen.Stats().Tags) },
		tag:  func(s segment.TagStats) string { return s.Tag },
	}
	for _, f := range metric.Tag() {
		tags.add(f, name)
	}
	all := &collector[segment.Stats]{
		read: func() []segment.Stats { return []segment.Stats{gen.Stats()} },
	}
	for _, f := range metric.Segments() {
		all.add(f, name)
	}
	return both{tags, all}
}

// both is two collectors that are registered as one.
type both [2]prometheus.Collector

// Describe sends the descriptions of both.
func (b both) Describe(descs chan<- *prometheus.Desc) {
	b[0].Describe(descs)
	b[1].Describe(descs)
}

// Collect sends the metrics of both.
func (b both) Collect(metrics chan<- prometheus.Metric) {
	b[0].Collect(metrics)
	b[1].Collect(metrics)
}

// collector makes metrics of the figures of each S that read returns. It is read-only after New and
// NewSegments.
type collector[S any] struct {
	read    func() []S
	tag     func(S) string // the value of the label tag; nil: no such label
	figures []metric.Figure[S]
	descs   []*prometheus.Desc // descs[i] describes figures[i]
}

// add adds a figure. name is the generator's.
func (c *collector[S]) add(f metric.Figure[S], name string) {
	constant := prometheus.Labels{"generator": name}
	var variable []string
	if c.tag != nil {
		variable = append(variable, "tag")
	}
	if f.Label != "" {
		variable = append(variable, f.Label)
	}
	c.figures = append(c.figures, f)
	c.descs = append(c.descs, prometheus.NewDesc(f.Prometheus(), f.Help, variable, constant))
}

// Describe sends the descriptions of all metrics.
func (c *collector[S]) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		descs <- d
	}
}

// Collect reads the figures and sends them.
func (c *collector[S]) Collect(metrics chan<- prometheus.Metric) {
	for _, s := range c.read() {
		for i, f := range c.figures {
			v, ok := f.Read(s)
			if !ok {
				continue
			}
			var labels []string
			if c.tag != nil {
				labels = append(labels, c.tag(s))
			}
			if f.Label != "" {
				labels = append(labels, strings.ToValidUTF8(f.Value(s), "?"))
			}
			kind := prometheus.GaugeValue
			if f.Counter {
				kind = prometheus.CounterValue
			}
			metrics <- prometheus.MustNewConstMetric(c.descs[i], kind, v, labels...)
		}
	}
}
