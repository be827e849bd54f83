package sqltable_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqltable"
)

func ExampleLeafAlloc() {
	ctx := context.Background()
	pool, err := sql.Open("mysql", "user:password@tcp(127.0.0.1:3306)/leaf")
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sqltable.DB{Pool: pool, Dialect: "mysql"}
	if err := sqltable.Migrate(ctx, db, "leaf_alloc"); err != nil {
		fmt.Println(err)
		return
	}
	src := sqltable.LeafAlloc(db, nil)
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
