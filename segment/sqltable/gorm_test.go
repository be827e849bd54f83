package sqltable_test

import (
	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// The tests of this package go through GORM and package sqlsource, which so are tested with it.

func reading(db *gorm.DB) segment.Source { return sqltable.Reading(sqlsource.LeafAlloc(db, nil)) }

func unbounded(dbs []*gorm.DB) segment.Source {
	return sqltable.Unbounded(sqlsource.Ticket(dbs, nil))
}
