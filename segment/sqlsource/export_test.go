package sqlsource

import (
	"context"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// ReadingLeafAlloc is LeafAlloc with a Fetch that always reads the row first, as one without a step
// does.
func ReadingLeafAlloc(db *gorm.DB) segment.Source {
	t, _ := LeafAlloc(db, nil).(*table)
	return reading{t}
}

// ExpandTicketsWith is ExpandTickets with a function that is called after each statement. An error of
// the function ends it.
var ExpandTicketsWith = expandTickets

type reading struct{ *table }

func (l reading) Fetch(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	if err := checkFetch(tag, step, l.maxTag); err != nil {
		return r, err
	}
	err = l.do(ctx, func(c *sqldb.Conn) (err error) {
		r, err = l.claimRead(ctx, c, tag, step)
		return err
	})
	return r, err
}
