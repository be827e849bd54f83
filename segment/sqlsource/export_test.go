package sqlsource

import (
	"context"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// ReadingLeafAlloc is LeafAlloc as it fetches without a step: it reads the row first.
func ReadingLeafAlloc(db *gorm.DB) segment.Source {
	t, _ := LeafAlloc(db, nil).(*table)
	return reading{t}
}

// ExpandTicketsWith is ExpandTickets with a function that is called after each statement and may
// end it.
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
