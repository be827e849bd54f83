// Package schema has an ent schema whose ids FillIDs fills.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/field"

	"github.com/uidring/uidring/uid"
)

// Order is an order.
type Order struct{ ent.Schema }

// Fields returns the columns. The id is a uid.ID in the program and a bigint in the database, and
// ent takes it for a text. A number is a column with AUTO_INCREMENT to ent: on MySQL each
// CreateBulk returns what that would have counted in place of the ids that it stored, and a row
// that is inserted without FillIDs gets the highest id plus one, which a generator may hand out
// next. With a text it returns the ids that are stored, and the database refuses a row without
// one.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").GoType(uid.ID(0)).SchemaType(map[string]string{
			dialect.MySQL: "bigint", dialect.Postgres: "bigint", dialect.SQLite: "bigint",
		}),
		field.String("item"),
	}
}
