package ringbuffer_test

import (
	"context"
	"fmt"
	"log"
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

// A caller that finds the ring empty fills it, and goes on.
func ExampleOptions_pad() {
	next := int64(1000)
	r, err := ringbuffer.New(8, &ringbuffer.Options{
		TakePolicy: ringbuffer.Pad,
		Pad: func(_ context.Context, r *ringbuffer.Ring) error {
			for r.TryPut(next) {
				next++ // in a real program under a lock: many callers can find the ring empty at once
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

// A goroutine of its own fills the ring whenever it falls low, and takers wait for it.
func ExampleOptions_onLow() {
	low := make(chan struct{}, 1)
	r, err := ringbuffer.New(8, &ringbuffer.Options{
		TakePolicy: ringbuffer.Wait,
		OnLow: func() {
			select {
			case low <- struct{}{}:
			default: // the producer has not answered the last call yet
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
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
	}
	cancel()
	<-done
	fmt.Println(sum)
	// Output: 5050
}

// A take with a deadline ends with it.
func ExampleRing_Take() {
	r, err := ringbuffer.New(8, &ringbuffer.Options{TakePolicy: ringbuffer.Wait})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = r.Take(ctx)
	fmt.Println(err)
	// Output: context deadline exceeded
}

// Batches carry many uids for the price of one swap, and what has gone stale is dropped from the front.
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
