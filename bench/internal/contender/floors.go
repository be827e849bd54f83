package contender

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Names of the floors that targets are measured against.
const (
	Add       = "floor/add"
	AddCalled = "floor/add, called"
	AddStore  = "floor/store and add"
	AddOwn    = "floor/add, a word each"
	Store256  = "floor/store 256"
	Store1024 = "floor/store 1,024"
	TimeNow   = "floor/time.Now"
	TimeSince = "floor/time.Since"
)

func floors() []Contender {
	row := func(name, note string, start func() Instance) Contender {
		return Contender{Name: name, Group: Floor, Note: note, New: startless(start)}
	}
	return []Contender{
		row(Add, "`atomic.Int64.Add` in the loop itself; goroutines share the word",
			func() Instance { return new(add) }),
		row(AddCalled, "a function that does nothing but that add, and is not inlined",
			func() Instance { return new(addCalled) }),
		row(AddStore, "one plain store to another cache line, then the add, both in the loop",
			func() Instance { return new(addStore) }),
		row(AddOwn, "every goroutine adds to a word of its own",
			func() Instance { return new(addOwn) }),
		row("floor/load and swap", "a load and a compare-and-swap, until one succeeds",
			func() Instance { return new(swap) }),
		row("floor/mutex", "lock, count, unlock", func() Instance { return new(mutex) }),
		row(TimeNow, "reads the wall clock and the monotonic clock",
			func() Instance { return now{} }),
		row(TimeSince, "reads the monotonic clock",
			func() Instance { return &since{start: time.Now()} }),
	}
}

// storeFloors are the floors of the group Batch.
func storeFloors() []Contender {
	row := func(name string, n int) Contender {
		return Contender{Name: name, Group: Batch,
			New: startless(func() Instance { return &store{bufs: newBuffers[int64](n)} })}
	}
	return []Contender{row(Store256, 256), row(Store1024, 1024)}
}

// startless is the New of what starts without an error.
func startless(start func() Instance) func() (Instance, error) {
	return func() (Instance, error) { return start(), nil }
}

// word is a counter that shares its cache lines with nothing.
type word struct {
	_ [2]cpu.CacheLinePad
	v atomic.Int64
	_ [2]cpu.CacheLinePad
	s int64
	_ [2]cpu.CacheLinePad
}

type add struct {
	open
	word
}

func (a *add) Run(n int) error {
	for range n {
		a.v.Add(1)
	}
	return nil
}

type addCalled struct {
	open
	word
}

func (a *addCalled) Run(n int) error {
	for range n {
		called(&a.v)
	}
	return nil
}

//go:noinline
func called(v *atomic.Int64) int64 { return v.Add(1) }

type addStore struct {
	open
	word
}

func (a *addStore) Run(n int) error {
	var own word // on the goroutine's stack
	s := escape(&own)
	for i := range n {
		s.s = int64(i)
		a.v.Add(1)
	}
	return nil
}

type addOwn struct{ open }

func (*addOwn) Run(n int) error {
	var own word // on the goroutine's stack
	w := escape(&own)
	for range n {
		w.v.Add(1)
	}
	return nil
}

// escape returns p, which the compiler then believes to be shared: no store to it is removed.
//
//go:noinline
func escape[T any](p *T) *T { return p }

type swap struct {
	open
	word
}

func (s *swap) Run(n int) error {
	for range n {
		for {
			if v := s.v.Load(); s.v.CompareAndSwap(v, v+1) {
				break
			}
		}
	}
	return nil
}

type mutex struct {
	open
	mu sync.Mutex
	word
}

func (m *mutex) Run(n int) error {
	for range n {
		m.mu.Lock()
		m.s++
		m.mu.Unlock()
	}
	return nil
}

type now struct{ open }

func (now) Run(n int) error {
	t := escape(new(time.Time))
	for range n {
		*t = time.Now()
	}
	return nil
}

type since struct {
	open
	start time.Time
}

func (s *since) Run(n int) error {
	d, start := escape(new(time.Duration)), s.start
	for range n {
		*d = time.Since(start)
	}
	return nil
}

type store struct {
	open
	bufs buffers[int64]
}

func (s *store) Run(n int) error {
	buf := s.bufs.get()
	for id := int64(0); n > 0; n -= len(*buf) {
		ids := (*buf)[:min(n, len(*buf))]
		count(ids, id)
		id += int64(len(ids))
	}
	s.bufs.put(buf)
	return nil
}

// count stores consecutive numbers. It is a call, as Fill is. The compiler does not unroll.
//
//go:noinline
func count(ids []int64, id int64) {
	for ; len(ids) >= 8; ids = ids[8:] {
		d := (*[8]int64)(ids)
		d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = id, id+1, id+2, id+3, id+4,
			id+5, id+6, id+7
		id += 8
	}
	for i := range ids {
		ids[i] = id
		id++
	}
}

// buffers are slices of one length that calls of Run take turns with.
type buffers[T any] struct{ pool *sync.Pool }

func newBuffers[T any](n int) buffers[T] {
	return buffers[T]{&sync.Pool{New: func() any { s := make([]T, n); return &s }}}
}

func (b buffers[T]) get() *[]T  { return b.pool.Get().(*[]T) } //nolint:errcheck // all it has
func (b buffers[T]) put(s *[]T) { b.pool.Put(s) }
