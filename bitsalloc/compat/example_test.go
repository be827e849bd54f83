package compat_test

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

func ExampleNewSites() {
	sites, err := compat.NewSites(bitsalloc.Twitter(), 5) // 5 of the 10 worker bits are the data centre
	if err != nil {
		fmt.Println(err)
		return
	}
	worker, err := sites.Join(3, 17)
	fmt.Println(worker, err)
	center, local := sites.Split(worker)
	fmt.Println(center, local)
	_, err = sites.Join(32, 0)
	fmt.Println(err)
	// Output:
	// 113 <nil>
	// 3 17
	// bitsalloc: out of range: data centre is 32, want 0..31
}

func ExampleDecodeLeaf() {
	made, worker, seq := compat.DecodeLeaf(1986435921014784042, time.Time{})
	fmt.Println(made.Format(time.RFC3339Nano), worker, seq)
	// Output:
	// 2025-11-06T14:10:04.421Z 664 42
}
