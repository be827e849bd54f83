package segment_test

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/segment"
)

func Example() {
	ctx := context.Background()
	g, err := segment.New(ctx, newFake(1000), nil) // sqlsource.LeafAlloc(db, nil) in a program
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	for range 3 {
		id, err := g.Next(ctx, "a")
		fmt.Println(id, err)
	}
	// Output:
	// 0 <nil>
	// 1 <nil>
	// 2 <nil>
}

func ExampleGenerator_Tag() {
	ctx := context.Background()
	g, err := segment.New(ctx, newFake(1000), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	orders, err := g.Tag(ctx, "a")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := make([]int64, 5)
	n, err := orders.Fill(ctx, ids)
	fmt.Println(n, ids, err)
	// Output: 5 [0 1 2 3 4] <nil>
}
