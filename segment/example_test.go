package segment_test

import (
	"context"
	"fmt"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
)

func Example() {
	ctx := context.Background()
	g, err := segment.New(ctx, newFake(1000), nil) // segment.LeafAlloc(db, nil) in a program
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

func ExampleLeafAlloc() {
	ctx := context.Background()
	db, err := gorm.Open(mysql.Open("user:password@tcp(127.0.0.1:3306)/leaf?parseTime=true"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := segment.Migrate(ctx, db, "leaf_alloc"); err != nil {
		fmt.Println(err)
		return
	}
	src := segment.LeafAlloc(db, nil)
	if err := src.(segment.Setter).Set(ctx, segment.Row{Tag: "order", Step: 60_000}); err != nil {
		fmt.Println(err)
		return
	}
	g, err := segment.New(ctx, src, &segment.Options{Checkpoint: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	fmt.Println(g.Next(ctx, "order"))
}
