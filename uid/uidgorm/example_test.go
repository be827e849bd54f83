package uidgorm_test

import (
	"errors"
	"fmt"
	"log"

	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// Order is in the same shard as its user.
type Order struct {
	ID     uid.ID `uid:"gene=UserID"`
	Number uid.ID `uid:"numbers"` // by another generator
	UserID uid.ID
	Lines  []Line
}

// Line needs no tag: its primary key is a uid.ID.
type Line struct {
	ID      uid.ID
	OrderID uid.ID
	Item    string
}

// A model, and an INSERT of a batch with associations. Here a database that stores nothing and
// generators with known ids stand in for one of GORM's drivers and for uidring.OpenDB;
// examples/orders has both.
func Example() {
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{ConnPool: nowhere{}})
	if err != nil {
		log.Fatal(err)
	}
	gen := &uidtest.Generator{Layout: geneLayout} // with two gene bits
	numbers := &uidtest.Generator{IDs: []uid.ID{9000}}

	plugin := uidgorm.New(gen, &uidgorm.Options{Named: map[string]uid.Generator{"numbers": numbers}})
	if err := errors.Join(db.Use(plugin), plugin.Check(db, &Order{}, &Line{})); err != nil {
		log.Fatal(err)
	}
	orders := []Order{{UserID: 4711, Lines: []Line{{Item: "tea"}, {Item: "cup"}}}}
	if err := db.Create(&orders).Error; err != nil {
		log.Fatal(err)
	}
	order := orders[0]
	fmt.Println(order.ID, "ends in the bits of its user:", order.ID&3 == order.UserID&3)
	fmt.Println(order.Number, order.Lines[0].ID, order.Lines[1].ID, order.Lines[1].OrderID == order.ID)
	// Output:
	// 7 ends in the bits of its user: true
	// 9000 8 12 true
}
