// Package schema is what ent generates the client of.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"

	"github.com/uidring/uidring/uid/uident"
)

// Order is an order, with lines of its own and labels that orders share.
type Order struct{ ent.Schema }

func (Order) Mixin() []ent.Mixin  { return []ent.Mixin{uident.Mixin{}} }
func (Order) Fields() []ent.Field { return []ent.Field{field.String("item")} }
func (Order) Edges() []ent.Edge {
	return []ent.Edge{edge.To("lines", Line.Type), edge.To("labels", Label.Type)}
}

// Line is a line of an order.
type Line struct{ ent.Schema }

func (Line) Mixin() []ent.Mixin  { return []ent.Mixin{uident.Mixin{}} }
func (Line) Fields() []ent.Field { return []ent.Field{field.Int("number")} }
func (Line) Edges() []ent.Edge {
	return []ent.Edge{edge.From("order", Order.Type).Ref("lines").Unique()}
}

// Label is a label of orders.
type Label struct{ ent.Schema }

func (Label) Mixin() []ent.Mixin { return []ent.Mixin{uident.Mixin{}} }
func (Label) Edges() []ent.Edge {
	return []ent.Edge{edge.From("orders", Order.Type).Ref("labels")}
}
