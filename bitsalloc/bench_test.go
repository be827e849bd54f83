package bitsalloc_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// The calls here take a nanosecond or so, which is what a loop of b.Loop costs by itself: they run
// in batches.
const batch = 1024

func BenchmarkCompose(b *testing.B) {
	a := mustNew(b, bitsalloc.Layout{})
	var sum int64
	for b.Loop() {
		for i := range int64(batch) {
			id, _ := a.Compose(i, 1234, i)
			sum += id
		}
	}
	_ = sum
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/id")
}

func BenchmarkSplit(b *testing.B) {
	a := mustNew(b, bitsalloc.Layout{})
	var sum int64
	for b.Loop() {
		for i := range int64(batch) {
			tick, worker, seq, gene := a.Split(i << 30)
			sum += tick + worker + seq + gene
		}
	}
	_ = sum
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/id")
}

func BenchmarkTickAt(b *testing.B) {
	for _, l := range []bitsalloc.Layout{{}, compat.Twitter()} {
		a := mustNew(b, l)
		b.Run(a.Layout().Tick.String(), func(b *testing.B) {
			now := time.Now()
			var sum int64
			for b.Loop() {
				for range batch {
					sum += a.TickAt(now)
				}
			}
			_ = sum
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/tick")
		})
	}
}
