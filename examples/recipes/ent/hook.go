// Package ent has the recipe for ent, as files to copy into a program's folder ent: this hook and a
// schema. The client is generated next to them:
//
//	go run -mod=mod entgo.io/ent/cmd/ent generate ./ent/schema
//
// testdata has a test that uses the client.
package ent

import (
	"context"

	"entgo.io/ent"

	"github.com/uidring/uidring/uid"
)

// FillIDs returns a hook for client.Use. It fills the ids of new rows whose type is uid.ID, as in
// schema/order.go, and leaves an id that is set alone. CreateBulk calls it for each row, before any
// SQL.
func FillIDs(gen uid.Generator) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if row, ok := m.(interface {
				ID() (uid.ID, bool)
				SetID(uid.ID)
			}); ok && m.Op().Is(ent.OpCreate) {
				if _, set := row.ID(); !set {
					id, err := gen.Next(ctx)
					if err != nil {
						return nil, err
					}
					row.SetID(id)
				}
			}
			return next.Mutate(ctx, m)
		})
	}
}
