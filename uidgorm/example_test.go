package uidgorm_test

import (
	"log"

	"gorm.io/gorm"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uidgorm"
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

// A model, and an INSERT of a batch with associations. It needs a database, so it is compiled and
// not run; examples/orders is a program that does.
func Example() {
	var (
		db           *gorm.DB      // opened with any of GORM's drivers
		gen, numbers uid.Generator // for instance by uidring.OpenDB
	)
	plugin := uidgorm.New(gen, &uidgorm.Options{Named: map[string]uid.Generator{"numbers": numbers}})
	if err := db.Use(plugin); err != nil {
		log.Fatal(err)
	}
	orders := []Order{{UserID: 4711, Lines: []Line{{Item: "tea"}, {Item: "cup"}}}}
	if err := db.Create(&orders).Error; err != nil {
		log.Fatal(err)
	}
	log.Print(orders[0].ID, orders[0].Lines[0].ID)
}
