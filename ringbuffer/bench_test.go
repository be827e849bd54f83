package ringbuffer_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// The benchmarks stand next to the floors that nothing built from the same instructions can get
// below. Compare only figures of one run:
//
//	go test -run '^$' -bench . -benchmem ./ringbuffer
//
// Every figure is for one uid, whatever the size of the batch that carried it.

const benchSize = 1 << 13

// BenchmarkFloor measures the primitives: alone on one goroutine, shared by as many as there are
// processors.
func BenchmarkFloor(b *testing.B) {
	var word struct {
		_ [128]byte
		n atomic.Int64
		_ [128]byte
	}
	b.Run("add/alone", func(b *testing.B) {
		for range b.N {
			word.n.Add(1)
		}
	})
	b.Run("add/shared", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				word.n.Add(1)
			}
		})
	})
	cas := func() {
		for {
			if c := word.n.Load(); word.n.CompareAndSwap(c, c+1) {
				return
			}
		}
	}
	b.Run("cas/alone", func(b *testing.B) {
		for range b.N {
			cas()
		}
	})
	b.Run("cas/shared", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				cas()
			}
		})
	})
	var mu sync.Mutex
	var n int64
	b.Run("mutex/alone", func(b *testing.B) {
		for range b.N {
			mu.Lock()
			n++
			mu.Unlock()
		}
	})
	b.Run("mutex/shared", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	})
	b.Run("chan/alone", func(b *testing.B) { // one send and one receive
		ch := make(chan int64, benchSize)
		for i := range b.N {
			ch <- int64(i)
			<-ch
		}
	})
	b.Run("chan/shared", func(b *testing.B) {
		ch := make(chan int64, benchSize)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ch <- 1
				<-ch
			}
		})
	})
}

func newBenchRing(b *testing.B, opts *ringbuffer.Options) *ringbuffer.Ring {
	b.Helper()
	r, err := ringbuffer.New(benchSize, opts)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return r
}

// BenchmarkTryTake measures the take alone: the timer stands still while the ring is filled.
func BenchmarkTryTake(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		batch := make([]int64, benchSize)
		r := newBenchRing(b, nil)
		for done := 0; done < b.N; done += benchSize {
			b.StopTimer()
			r.TryPutN(batch)
			b.StartTimer()
			for range min(benchSize, b.N-done) {
				r.TryTake()
			}
		}
	})
	// A taker that finds the ring empty fills it; the cost of the puts is part of the figure.
	b.Run("shared", func(b *testing.B) {
		r := newBenchRing(b, nil)
		b.RunParallel(func(pb *testing.PB) {
			batch := make([]int64, benchSize)
			for pb.Next() {
				for {
					if _, ok := r.TryTake(); ok {
						break
					}
					r.TryPutN(batch)
				}
			}
		})
	})
}

// BenchmarkTryTakeN measures takes in batches, filled as in BenchmarkTryTake.
func BenchmarkTryTakeN(b *testing.B) {
	for _, n := range []int{4, 16, 64} {
		b.Run("alone/"+strconv.Itoa(n), func(b *testing.B) {
			batch := make([]int64, benchSize)
			dst := make([]int64, n)
			r := newBenchRing(b, nil)
			for done := 0; done < b.N; done += benchSize {
				b.StopTimer()
				r.TryPutN(batch)
				b.StartTimer()
				for range benchSize / n {
					r.TryTakeN(dst)
				}
			}
		})
		b.Run("shared/"+strconv.Itoa(n), func(b *testing.B) {
			r := newBenchRing(b, nil)
			b.RunParallel(func(pb *testing.PB) {
				batch := make([]int64, benchSize)
				dst := make([]int64, n)
				have := 0
				for pb.Next() {
					for have == 0 {
						if have = r.TryTakeN(dst); have == 0 {
							r.TryPutN(batch)
						}
					}
					have--
				}
			})
		})
	}
}

// BenchmarkTryPut measures the put alone: the timer stands still while the ring is emptied.
func BenchmarkTryPut(b *testing.B) {
	r := newBenchRing(b, nil)
	for done := 0; done < b.N; done += benchSize {
		b.StopTimer()
		for r.Len() > 0 {
			r.TryTake()
		}
		b.StartTimer()
		for i := range min(benchSize, b.N-done) {
			r.TryPut(int64(i))
		}
	}
}

// BenchmarkTryPutN measures puts in batches, emptied as in BenchmarkTryPut.
func BenchmarkTryPutN(b *testing.B) {
	for _, n := range []int{16, 64} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			src := make([]int64, n)
			r := newBenchRing(b, nil)
			for done := 0; done < b.N; done += benchSize {
				b.StopTimer()
				r.DropBelow(1)
				b.StartTimer()
				for range benchSize / n {
					r.TryPutN(src)
				}
			}
		})
	}
}

// BenchmarkPutTake measures a put and a take, as the channel of BenchmarkFloor is measured.
func BenchmarkPutTake(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		r := newBenchRing(b, nil)
		for i := range b.N {
			r.TryPut(int64(i))
			r.TryTake()
		}
	})
	b.Run("shared", func(b *testing.B) {
		r := newBenchRing(b, nil)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				r.TryPut(1)
				r.TryTake()
			}
		})
	})
}
