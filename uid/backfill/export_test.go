package backfill

import "github.com/uidring/uidring/uid"

// Parse takes an id of the layout apart.
func (g *Generator) Parse(id uid.ID) uid.Parts {
	return uid.ParseParts(g.eras.Of(int64(id)), id)
}
