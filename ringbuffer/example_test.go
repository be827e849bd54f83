package ringbuffer_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/uidring/uidring/ringbuffer"
)

func ExampleNew() {
	r, err := ringbuffer.New(4, nil)
	if err != nil {
		log.Fatal(err)
	}
	for uid := int64(1); r.TryPut(uid); uid++ {
	}
	fmt.Println(r.Len(), "of", r.Cap())
	uid, ok := r.TryTake()
	fmt.Println(uid, ok)
	// Output:
	// 4 of 4
	// 1 true
}

// A caller that finds the ring empty fills it.
func ExampleOptions_takeFunc() {
	var mu sync.Mutex // many callers can find the ring empty at once
	next := int64(1000)
	r, err := ringbuffer.New(8, &ringbuffer.Options{
		TakeFunc: func(_ context.Context, r *ringbuffer.Ring) error {
			mu.Lock()
			defer mu.Unlock()
			for r.TryPut(next) {
				next++
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		uid, err := r.Take(context.Background())
		fmt.Println(uid, err)
	}
	// Output:
	// 1000 <nil>
	// 1001 <nil>
	// 1002 <nil>
}

// A goroutine of its own refills the ring when a taker finds it half empty. Takers wait for it.
func ExampleOptions_takeWait() {
	r, err := ringbuffer.New(8, &ringbuffer.Options{TakePolicy: ringbuffer.TakeWait})
	if err != nil {
		log.Fatal(err)
	}
	low := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for uid := int64(1); ; {
			for r.TryPut(uid) {
				uid++
			}
			select {
			case <-low:
			case <-ctx.Done():
				return
			}
		}
	}()
	var sum int64
	for range 100 {
		uid, err := r.Take(ctx)
		if err != nil {
			log.Fatal(err)
		}
		sum += uid
		if r.Len() < r.Cap()/2 {
			select {
			case low <- struct{}{}:
			default: // the producer has not seen the last signal yet
			}
		}
	}
	cancel()
	<-done
	fmt.Println(sum)
	// Output: 5050
}

// A take with a deadline ends with it.
func ExampleRing_Take() {
	r, err := ringbuffer.New(8, &ringbuffer.Options{TakePolicy: ringbuffer.TakeWait})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = r.Take(ctx)
	fmt.Println(err)
	// Output: context deadline exceeded
}

// Batches carry many uids for the price of one swap, and what has gone stale is dropped from the
// front.
func ExampleRing_TryTakeN() {
	r, err := ringbuffer.New(8, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.TryPutN([]int64{10, 20, 30, 40, 50}))
	fmt.Println(r.DropBelow(25))
	dst := make([]int64, 2)
	fmt.Println(r.TryTakeN(dst), dst, r.Len())
	// Output:
	// 5
	// 2
	// 2 [30 40] 1
}
