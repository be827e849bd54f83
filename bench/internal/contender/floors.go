package contender

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// word is an atomic counter that shares its cache line with nothing.
type word struct {
	_ cpu.CacheLinePad
	v atomic.Int64
	_ cpu.CacheLinePad
}

// sink keeps the compiler from dropping a loop whose result nobody reads.
type sink struct {
	_ cpu.CacheLinePad
	v int64
	_ cpu.CacheLinePad
}

func floors() []Contender {
	return []Contender{
		{Name: "floor/store", Group: Floor, New: newStore, Note: "a plain store per turn of the loop: what counting costs"},
		{Name: "floor/atomic.Add own word", Group: Floor, New: newAddOwn, Note: "each goroutine adds to a cache line of its own"},
		{Name: "floor/atomic.Add", Group: Floor, New: newAdd, Note: "all goroutines add to one word"},
		{Name: "floor/compare-and-swap", Group: Floor, New: newSwap, Note: "one compare-and-swap on one word, lost or won"},
		{Name: "floor/load+compare-and-swap", Group: Floor, New: newLoadSwap, Note: "load and compare-and-swap on one word until it is won"},
		{Name: "floor/mutex", Group: Floor, New: newMutex, Note: "lock, add, unlock"},
		{Name: "floor/time.Now", Group: Floor, New: newNow, Note: "what asking the clock costs"},
	}
}

func newStore() (*Instance, error) {
	return &Instance{Close: nothing, Run: func(n int) error {
		s := new(sink)
		p := &s.v
		for i := range n {
			*p = int64(i)
		}
		keep(s)
		return nil
	}}, nil
}

// keep makes s's stores observable.
//
//go:noinline
func keep(*sink) {}

func newAddOwn() (*Instance, error) {
	// One word per call of Run rather than per goroutine: whoever measures calls Run with thousands of turns.
	pool := sync.Pool{New: func() any { return new(word) }}
	return &Instance{Close: nothing, Run: func(n int) error {
		w := pool.Get().(*word) //nolint:errcheck // the pool has nothing else
		for range n {
			w.v.Add(1)
		}
		pool.Put(w)
		return nil
	}}, nil
}

func newAdd() (*Instance, error) {
	w := new(word)
	return &Instance{Close: nothing,
		Keys: integers(func() (int64, error) { return w.v.Add(1), nil }),
		Run: func(n int) error {
			for range n {
				w.v.Add(1)
			}
			return nil
		}}, nil
}

func newSwap() (*Instance, error) {
	w := new(word)
	return &Instance{Close: nothing, Run: func(n int) error {
		v := w.v.Load()
		for range n {
			w.v.CompareAndSwap(v, v+1)
			v++
		}
		return nil
	}}, nil
}

func newLoadSwap() (*Instance, error) {
	w := new(word)
	next := func() int64 {
		for {
			if v := w.v.Load(); w.v.CompareAndSwap(v, v+1) {
				return v
			}
		}
	}
	return &Instance{Close: nothing,
		Keys: integers(func() (int64, error) { return next(), nil }),
		Run: func(n int) error {
			for range n {
				for {
					if v := w.v.Load(); w.v.CompareAndSwap(v, v+1) {
						break
					}
				}
			}
			return nil
		}}, nil
}

func newMutex() (*Instance, error) {
	var l struct {
		_  cpu.CacheLinePad
		mu sync.Mutex
		v  int64
		_  cpu.CacheLinePad
	}
	return &Instance{Close: nothing,
		Keys: integers(func() (int64, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.v++
			return l.v, nil
		}),
		Run: func(n int) error {
			for range n {
				l.mu.Lock()
				l.v++
				l.mu.Unlock()
			}
			return nil
		}}, nil
}

func newNow() (*Instance, error) {
	return &Instance{Close: nothing, Run: func(n int) error {
		var t time.Time
		for range n {
			t = time.Now()
		}
		s := &sink{v: t.UnixNano()}
		keep(s)
		return nil
	}}, nil
}
