package uid

import "context"

// FillEach gives every row an id by one Fill of gen: key returns where the row's id goes, and is
// called once per row, in order, after the ids are there. An error is Fill's, and then no row has
// been given one. It allocates a slice of len(rows) ids. No rows are no call of gen.
//
//	err := uid.FillEach(ctx, gen, orders, func(o *Order) *uid.ID { return &o.ID })
func FillEach[Row any](ctx context.Context, gen Generator, rows []Row, key func(*Row) *ID) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]ID, len(rows))
	if _, err := gen.Fill(ctx, ids); err != nil {
		return err
	}
	for i := range rows {
		*key(&rows[i]) = ids[i]
	}
	return nil
}
