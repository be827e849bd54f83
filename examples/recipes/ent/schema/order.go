// Package schema has an ent schema whose ids FillIDs fills.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/uidring/uidring/uid"
)

// Order is an order. Its id's type is uid.ID, which FillIDs looks for.
type Order struct{ ent.Schema }

// Fields returns the columns.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(uid.ID(0)),
		field.String("item"),
	}
}
