package compat_test

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

func ExampleWorker() {
	worker, err := compat.Worker(3, 17)
	fmt.Println(worker, err)
	_, err = compat.Worker(32, 0)
	fmt.Println(err)
	// Output:
	// 113 <nil>
	// bitsalloc: out of range: data centre is 32, want 0..31
}

func ExampleDecodeLeaf() {
	made, worker, seq := compat.DecodeLeaf(1986435921014784042, time.Time{})
	fmt.Println(made.Format(time.RFC3339Nano), worker, seq)
	// Output:
	// 2025-11-06T14:10:04.421Z 664 42
}

// Ids of a service on another snowflake are taken apart with the layout and the epoch of that
// service.
func ExampleSnowflake() {
	a, err := bitsalloc.New(compat.Snowflake(time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)))
	if err != nil {
		fmt.Println(err)
		return
	}
	tick, worker, seq, _ := a.Split(831428352057344007)
	fmt.Println(a.TimeAt(tick).Format(time.RFC3339Nano), worker, seq)
	// Output:
	// 2026-04-13T07:19:26.322Z 272 7
}
