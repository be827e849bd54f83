package sqltable_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// BenchmarkLatency times each call by itself, one every 10 µs, on a MariaDB that answers a fetch in
// 1 ms or in 50 ms. A step of 8,000 covers both: 7,200 ids are left at the mark, for 72 ms. Two
// benchmarks compare Tag.Next: floor_nothing, which shows the time of the clock and the machine, and
// single_buffer, whose caller fetches once in 8,000 calls, so that the fetch shows at p99.99.
//
//	go test -run '^$' -bench Latency -benchtime 1000000x ./segment/sqlsource
func BenchmarkLatency(b *testing.B) {
	const step = 8000
	for _, ms := range []int{1, 50} {
		_, db := database(b)
		run(b, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, ?)", step)
		alloc := sqlsource.LeafAlloc(db, nil)
		src := segtest.Func(func(ctx context.Context, tag string, step int64) (segment.Range, error) {
			if err := db.WithContext(ctx).Exec("DO SLEEP(?)", float64(ms)/1000).Error; err != nil {
				return segment.Range{}, err
			}
			return alloc.Fetch(ctx, tag, step)
		})
		tag, err := segtest.New(b, src, &segment.Options{MaxStep: 1}).Tag(b.Context(), "a")
		if err != nil {
			b.Fatal(err)
		}
		ctx := b.Context()
		b.Run(fmt.Sprintf("%dms/floor_nothing", ms), func(b *testing.B) {
			timed(b, func() error { return nil })
		})
		b.Run(fmt.Sprintf("%dms/Tag", ms), func(b *testing.B) {
			timed(b, func() error {
				_, err := tag.Next(ctx)
				return err
			})
		})
		b.Run(fmt.Sprintf("%dms/single_buffer", ms), func(b *testing.B) {
			var at, end int64
			timed(b, func() error {
				if at == end {
					r, err := src.Fetch(ctx, "a", 0)
					if err != nil {
						return err
					}
					at, end = r.From, r.To
				}
				at++
				return nil
			})
		})
	}
}

// timed reports quantiles of the time of a call of f, in nanoseconds.
func timed(b *testing.B, f func() error) {
	b.Helper()
	times := make([]uint32, b.N) // up to 4 s
	due := time.Now()
	for i := range times {
		begin := time.Now()
		for begin.Before(due) {
			begin = time.Now()
		}
		due = begin.Add(10 * time.Microsecond)
		if err := f(); err != nil {
			b.Fatal(err)
		}
		times[i] = uint32(time.Since(begin))
	}
	b.StopTimer()
	slices.Sort(times)
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"p99.99", 0.9999}} {
		b.ReportMetric(float64(times[int(float64(len(times)-1)*q.part)]), q.name+"-ns")
	}
	b.ReportMetric(float64(times[len(times)-1]), "max-ns")
}
