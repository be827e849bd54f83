package contender

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Names of floors that others refer to.
const (
	AddCalled = "floor/add, called"
	AddOwn    = "floor/add, a word each"
)

func floors() []Contender {
	row := func(name, note string, run Loop) Contender {
		return Contender{name, Floor, AddCalled, 0, Rate{}, note, Plain(run)}
	}
	shared := new(word) // of the goroutines
	return []Contender{
		row("floor/add", "`atomic.Int64.Add` in the loop itself; goroutines share the word",
			func(n int) error { return repeat(n, func() error { shared.v.Add(1); return nil }) }),
		row(AddCalled, "a function that does nothing but that add, and is not inlined",
			func(n int) error { return repeat(n, func() error { called(&shared.v); return nil }) }),
		row("floor/store and add",
			"one plain store to another cache line, then the add, both in the loop",
			func(n int) error {
				own := escape(new(word))
				return repeat(n, func() error { own.s = 1; shared.v.Add(1); return nil })
			}),
		row(AddOwn, "every goroutine adds to a word of its own", func(n int) error {
			own := escape(new(word))
			return repeat(n, func() error { own.v.Add(1); return nil })
		}),
		row("floor/time.Now", "reads the wall clock and the monotonic clock", func(n int) error {
			t := escape(new(time.Time))
			return repeat(n, func() error { *t = time.Now(); return nil })
		}),
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

//go:noinline
func called(v *atomic.Int64) int64 { return v.Add(1) }

// escape returns p, which the compiler then believes to be shared: no store to it is removed.
//
//go:noinline
func escape[T any](p *T) *T { return p }

func store(ids int) Start {
	bufs := &sync.Pool{New: func() any { s := make([]int64, ids); return &s }}
	return Plain(func(n int) error {
		buf := bufs.Get().(*[]int64) //nolint:errcheck // all it has
		for id := int64(0); n > 0; n, id = n-ids, id+int64(ids) {
			count((*buf)[:min(n, ids)], id)
		}
		bufs.Put(buf)
		return nil
	})
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
