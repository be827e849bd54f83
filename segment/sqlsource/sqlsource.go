// Package sqlsource is package sqltable for programs that have a *gorm.DB: segment.Source over the
// tables of three systems in wide use, on MySQL, MariaDB, PostgreSQL and SQLite. It takes the
// *sql.DB that GORM holds, past GORM's callbacks and plug-ins; sqltable has all the rest.
//
// A *gorm.DB that was not opened, that is a transaction or a dry run, or that has no *sql.DB is an
// error that wraps segment.ErrOptions.
package sqlsource

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqltable"
)

// LeafAlloc is sqltable.LeafAlloc.
func LeafAlloc(db *gorm.DB, opts *sqltable.LeafAllocOptions) segment.Source {
	return sqltable.LeafAlloc(of("LeafAlloc", db), opts)
}

// Sequence is sqltable.Sequence.
func Sequence(db *gorm.DB, opts *sqltable.SequenceOptions) segment.Source {
	return sqltable.Sequence(of("Sequence", db), opts)
}

// Ticket is sqltable.Ticket.
func Ticket(dbs []*gorm.DB, opts *sqltable.TicketOptions) segment.Source {
	all := make([]sqltable.DB, len(dbs))
	for i, db := range dbs {
		all[i] = of(fmt.Sprint("ticket server ", i), db)
	}
	return sqltable.Ticket(all, opts)
}

// Migrate is sqltable.Migrate.
func Migrate(ctx context.Context, db *gorm.DB, tables ...string) error {
	return sqltable.Migrate(ctx, of("Migrate", db), tables...)
}

// of returns the database of db for its user, which errors name.
func of(user string, db *gorm.DB) (d sqltable.DB) {
	d.Pool, d.Dialect, d.Place, d.Err = sqlgorm.Pool("sqlsource: "+user, db)
	return d
}
