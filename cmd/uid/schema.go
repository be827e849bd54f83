package main

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/sql"
)

type schemaCmd struct {
	Dialect string   `enum:"mysql,postgres,sqlite" default:"mysql" help:"mysql (MariaDB too), postgres or sqlite."`
	Table   []string `placeholder:"TABLE" help:"Only these tables. Default: all."`
}

// Run prints one CREATE TABLE IF NOT EXISTS for each table, ready to be piped into the database's
// own client.
func (c *schemaCmd) Run(p *program) error {
	tables := c.Table
	if len(tables) == 0 {
		tables = sql.Tables()
	}
	for i, table := range tables {
		for _, known := range sql.Tables() {
			if strings.EqualFold(table, known) {
				table = known
			}
		}
		ddl, err := sql.DDL(c.Dialect, table)
		if err != nil {
			return usagef("--table: %w", err)
		}
		if i > 0 {
			fmt.Fprintln(p.out)
		}
		fmt.Fprintln(p.out, strings.TrimSpace(ddl))
	}
	return nil
}
