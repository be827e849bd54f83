package ringbuffer_test

import (
	"context"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/ringbuffer"
)

// TestPadding checks that words of different writers are two cache lines apart, and that 64-bit
// words are aligned.
func TestPadding(t *testing.T) {
	t.Parallel()
	line := unsafe.Sizeof(cpu.CacheLinePad{})
	var last uintptr
	for i, at := range ringbuffer.Hot() {
		if at%8 != 0 {
			t.Errorf("group %d begins at %d, want a multiple of 8", i, at)
		}
		if at < last+2*line {
			t.Errorf("group %d begins at %d, %d bytes after the one before, want at least %d", i, at, at-last, 2*line)
		}
		last = at
	}
	if got, want := ringbuffer.FlagSize, max(line, 8); got != want {
		t.Errorf("a flag has %d bytes, want %d", got, want)
	}
}

// TestNoAllocations checks every method that is called more than once in a ring's life.
func TestNoAllocations(t *testing.T) {
	r := newRing(t, 64, nil)
	failing := newRing(t, 1, &ringbuffer.Options{PutPolicy: ringbuffer.PutFail})
	patient := newRing(t, 1, waiting)
	padding := newRing(t, 8, &ringbuffer.Options{TakeFunc: func(_ context.Context, r *ringbuffer.Ring) error {
		r.TryPut(1)
		return nil
	}})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	<-ended.Done()
	batch := make([]int64, 64)
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"TryPut, TryTake", func() { r.TryPut(1); r.TryTake() }},
		{"TryPutN, TryTakeN", func() { r.TryPutN(batch); r.TryTakeN(batch) }},
		{"DropBelow", func() { r.TryPutN(batch); r.DropBelow(2) }},
		{"Put, Take", func() { _ = r.Put(1); _, _ = r.Take(ended) }},
		{"Put on full", func() { _ = failing.Put(1); _ = failing.Put(1) }},
		{"Take on empty", func() { failing.TryTake(); _, _ = failing.Take(ended) }},
		{"Take that pads", func() { _, _ = padding.Take(t.Context()) }},
		{"Take that waits", func() { _, _ = patient.Take(ended) }},
		{"Len, Cap, Tail, Cursor", func() { r.Len(); r.Cap(); r.Tail(); r.Cursor() }},
	} {
		if n := testing.AllocsPerRun(100, c.f); n != 0 {
			t.Errorf("%s: %g allocations, want 0", c.name, n)
		}
	}
}

// BenchmarkNew shows the memory of a ring: 72 bytes a slot on amd64, and nothing that grows with
// its use.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ringbuffer.New(1<<10, nil); err != nil {
			b.Fatal(err)
		}
	}
}
