package bitsalloc_test

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

func ExampleNew() {
	a, err := bitsalloc.New(bitsalloc.Layout{}) // the default: 1-28-22-13 in seconds since 2026
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Layout())
	fmt.Println("workers:", a.MaxWorker()+1, "ids a second:", a.MaxSeq()+1)
	fmt.Println("expires:", a.Expires())

	_, err = bitsalloc.New(bitsalloc.Layout{TimeBits: 41, WorkerBits: 12, SeqBits: 12})
	fmt.Println(err)
	// Output:
	// 28-22-13-0/1s@2026-01-01T00:00:00Z
	// workers: 4194304 ids a second: 8192
	// expires: 2034-07-04 21:24:16 +0000 UTC
	// bitsalloc: invalid layout: TimeBits+WorkerBits+SeqBits+GeneBits is 41+12+12+0 = 65, want at most 63
}

func ExampleAllocator_Compose() {
	a, err := bitsalloc.New(bitsalloc.Layout{})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	id, err := a.Compose(a.TickAt(noon), 1234, 56)
	if err != nil {
		fmt.Println(err)
		return
	}
	tick, worker, seq, _ := a.Split(id)
	fmt.Println(id, "made", a.TimeAt(tick).Format(time.RFC3339), "by worker", worker, "as number", seq)

	_, err = a.Compose(0, 0, 8192)
	fmt.Println(err)
	// Output:
	// 176636543012323384 made 2026-03-01T12:00:00Z by worker 1234 as number 56
	// bitsalloc: out of range: seq is 8192, want 0..8191
}

func ExampleLayout_JavaScript() {
	a, err := bitsalloc.New(compat.Twitter().JavaScript(5))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Layout())
	fmt.Println("highest id:", a.MaxID())
	// Output:
	// 41-5-7-0/1ms@2010-11-04T01:42:54.657Z
	// highest id: 9007199254740991
}

func ExampleParseLayout() {
	l, err := bitsalloc.ParseLayout("41-10-12/1ms@2020-01-01T00:00:00+08:00")
	fmt.Println(l, err)
	// Output:
	// 41-10-12-0/1ms@2019-12-31T16:00:00Z <nil>
}

// The same key decides the shard of a user and, through the gene, of each of the user's orders:
// four tables today, and sixteen after two doublings, without another id for any order.
func ExampleGeneOf() {
	const geneBits = 4 // room for up to 16 tables
	orders, err := bitsalloc.New(compat.Twitter().WithGene(geneBits))
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, user := range []int64{1001, 1002, -7} {
		order, err := orders.ComposeGene(500_000_000_000, 9, int64(i), bitsalloc.GeneOf(user, geneBits))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("user %d and order %d:", user, order)
		for _, bits := range []int{2, 4} { // 4 tables, 16 tables
			fmt.Printf(" table %d and %d of %d;", bitsalloc.GeneOf(user, bits).Shard(),
				bitsalloc.GeneOf(order, bits).Shard(), 1<<bits)
		}
		fmt.Println()
	}
	// Output:
	// user 1001 and order 2097152000000036873: table 1 and 1 of 4; table 9 and 9 of 16;
	// user 1002 and order 2097152000000036890: table 2 and 2 of 4; table 10 and 10 of 16;
	// user -7 and order 2097152000000036905: table 1 and 1 of 4; table 9 and 9 of 16;
}
