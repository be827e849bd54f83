package contender

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Names of floors that others refer to.
const (
	Add       = "floor/add"
	AddCalled = "floor/add, called"
	AddStore  = "floor/store and add"
	AddOwn    = "floor/add, a word each"
	Store256  = "floor/store 256"
	Store1024 = "floor/store 1,024"
	TimeNow   = "floor/time.Now"
)

func floors() []Contender {
	row := func(name, note string, start func() (Loop, func(), error)) Contender {
		return Contender{name, Floor, AddCalled, 0, Rate{}, note, start}
	}
	return []Contender{
		row(Add, "`atomic.Int64.Add` in the loop itself; goroutines share the word", free(add)),
		row(AddCalled, "a function that does nothing but that add, and is not inlined",
			free(addCalled)),
		row(AddStore, "one plain store to another cache line, then the add, both in the loop",
			free(addStore)),
		row(AddOwn, "every goroutine adds to a word of its own", plain(addOwn)),
		row(TimeNow, "reads the wall clock and the monotonic clock", plain(now)),
	}
}

// word is a counter that shares its cache lines with nothing.
type word struct {
	_ [2]cpu.CacheLinePad
	v atomic.Int64
	_ [2]cpu.CacheLinePad
	s int64
	_ [2]cpu.CacheLinePad
}

func add() Loop {
	w := new(word)
	return func(n int) error {
		for range n {
			w.v.Add(1)
		}
		return nil
	}
}

func addCalled() Loop {
	w := new(word)
	return func(n int) error {
		for range n {
			called(&w.v)
		}
		return nil
	}
}

//go:noinline
func called(v *atomic.Int64) int64 { return v.Add(1) }

func addStore() Loop {
	w := new(word)
	return func(n int) error {
		var own word // on the goroutine's stack
		s := escape(&own)
		for i := range n {
			s.s = int64(i)
			w.v.Add(1)
		}
		return nil
	}
}

func addOwn(n int) error {
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

func now(n int) error {
	t := escape(new(time.Time))
	for range n {
		*t = time.Now()
	}
	return nil
}

func store(ids int) Loop {
	bufs := &sync.Pool{New: func() any { s := make([]int64, ids); return &s }}
	return func(n int) error {
		buf := bufs.Get().(*[]int64) //nolint:errcheck // all it has
		for id := int64(0); n > 0; n, id = n-ids, id+int64(ids) {
			count((*buf)[:min(n, ids)], id)
		}
		bufs.Put(buf)
		return nil
	}
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
