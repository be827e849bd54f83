package segment_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// BenchmarkNext measures the calls and their floors in one run. Repeat whole runs, because -count
// would repeat each benchmark in a row. Other load on the machine only adds time: report the median
// of several runs on a busy machine, and the minimum on a quiet one.
//
//	go test -c ./segment && for i in $(seq 10); do ./segment.test -test.run '^$' -test.bench Next -test.cpu 2; done
//
// The ids come in ranges of a million, so fetches happen but take hardly any of the time. alone runs
// one goroutine. shared runs as many as there are processors, on one tag, or on one word for the
// floor.
func BenchmarkNext(b *testing.B) {
	g := segtest.New(b, newFake(1_000_000), nil)
	t, err := g.Tag(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	floor := new(struct {
		_ cpu.CacheLinePad
		atomic.Int64
		_ cpu.CacheLinePad
	})
	locked := new(lockedSegment)

	// The loops are written out, because calling a closure would cost as much as the call measured.
	b.Run("alone/floor_add", func(b *testing.B) {
		for range b.N {
			floor.Add(1)
		}
	})
	b.Run("alone/Tag", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := t.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("alone/Generator", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if _, err := g.Next(ctx, "a"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("alone/original_locks", func(b *testing.B) {
		for range b.N {
			locked.next()
		}
	})
	b.Run("shared/floor_add", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				floor.Add(1)
			}
		})
	})
	b.Run("shared/Tag", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := t.Next(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("shared/Generator", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := g.Next(ctx, "a"); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("shared/original_locks", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				locked.next()
			}
		})
	})
}

// lockedSegment works as the hot path of the original does: a read lock around an atomic add.
type lockedSegment struct {
	mu    sync.RWMutex
	value atomic.Int64
	ready atomic.Bool
}

func (l *lockedSegment) next() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.ready.Load() {
		return -1
	}
	return l.value.Add(1)
}

func BenchmarkFill(b *testing.B) {
	t, err := segtest.New(b, newFake(1_000_000), nil).Tag(b.Context(), "a")
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]int64, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Fill(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNextAllocates(t *testing.T) {
	g := segtest.New(t, newFake(100_000_000), &segment.Options{Refresh: -1})
	tag, err := g.Tag(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, ids := t.Context(), make([]int64, 64)
	for name, f := range map[string]func(){
		"Generator.Next": func() { _, _ = g.Next(ctx, "a") },
		"Generator.Fill": func() { _, _ = g.Fill(ctx, "a", ids) },
		"Tag.Next":       func() { _, _ = tag.Next(ctx) },
		"Tag.Fill":       func() { _, _ = tag.Fill(ctx, ids) },
	} {
		if n := testing.AllocsPerRun(1000, f); n != 0 {
			t.Errorf("%s allocates %v times a call, want 0", name, n)
		}
	}
}
