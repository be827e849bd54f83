package touch

import (
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestFirst reads words in either order, on both sides of an edge.
func TestFirst(t *testing.T) {
	t.Parallel()
	type words struct{ a, b, c atomic.Int64 }
	var w words
	b, c := unsafe.Offsetof(w.b), unsafe.Offsetof(w.c)
	sum := int64(0)
	for name, test := range map[string]struct {
		f    func(*words)
		want uintptr
	}{
		"rising":  {func(w *words) { sum += w.a.Load() + w.b.Load() + w.c.Load() }, b},
		"falling": {func(w *words) { sum += w.c.Load() + w.b.Load() + w.a.Load() }, c},
		"stored":  {func(w *words) { w.c.Store(1); w.b.Store(1) }, c},
	} {
		got, touched := First(t, b, func(w *words) { w.a.Store(1) }, test.f)
		if got != test.want || !touched {
			t.Errorf("%s: First = %d, %t, want %d", name, got, touched, test.want)
		}
	}
	if _, touched := First(t, b, nil, func(w *words) { sum += w.a.Load() }); touched {
		t.Error("a word before the edge counts as touched")
	}
}
