package sqltable

import (
	"context"
	"errors"
	"fmt"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// tables returns the names of the tables that Migrate creates.
func tables() []string {
	return []string{
		"leaf_alloc", "number_gapless", "number_name", "segment_moved", "t_sequence", "ticket",
	}
}

// Migrate creates the named tables, or all that the package uses, if they are missing. It changes
// and drops nothing that exists. A table without its primary or unique key is an error that wraps
// segment.ErrOptions and has the statement that makes it. The DDL is that of package sql. If the
// database is down, Migrate waits for it until ctx ends.
func Migrate(ctx context.Context, db DB, names ...string) error {
	d, err := db.open("sqltable")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = tables()
	}
	if err := d.Create(ctx, names...); err != nil {
		return err
	}
	err = d.Retry(ctx, "looking for keys", func(ctx context.Context) error {
		for _, table := range names {
			if err := d.RequireKey(ctx, table, keyColumn[table]); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, sqldb.ErrUnfit) {
		err = fmt.Errorf("%w (%w)", err, segment.ErrOptions)
	}
	return err
}

// keyColumn is the column of each table that no two rows may be equal in.
var keyColumn = map[string]string{
	"leaf_alloc": "biz_tag", "number_name": "name", "number_gapless": "tag",
	"segment_moved": "tag", "t_sequence": "pk_seq_name", "ticket": "stub",
}
