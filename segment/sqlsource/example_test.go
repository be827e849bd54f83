package sqlsource_test

import (
	"context"
	"fmt"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

func ExampleLeafAlloc() {
	ctx := context.Background()
	db, err := gorm.Open(mysql.Open("user:password@tcp(127.0.0.1:3306)/leaf?parseTime=true"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := sqlsource.Migrate(ctx, db, "leaf_alloc"); err != nil {
		fmt.Println(err)
		return
	}
	src := sqlsource.LeafAlloc(db, nil)
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
