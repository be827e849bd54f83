package uident

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"

	"github.com/uidring/uidring/uid"
)

// Mixin is the key of a type: a uid.ID in the program, a BIGINT in the database.
//
// Ent takes it for a text. A number is a column with AUTO_INCREMENT to ent: on MySQL a CreateBulk
// then returns what that would have counted in the place of the ids that it stored, and a row that
// is inserted without Fill gets the highest id plus one, which a generator may hand out next. With
// a text it returns the ids that are stored, and the database refuses a row without one (MySQL: in
// strict mode).
type Mixin struct{ mixin.Schema }

// Fields returns the key.
func (Mixin) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").GoType(uid.ID(0)).Immutable().SchemaType(map[string]string{
			dialect.MySQL: "bigint", dialect.Postgres: "bigint", dialect.SQLite: "bigint",
		}),
	}
}
