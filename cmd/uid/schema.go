package main

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/sql"
)

type schemaCmd struct {
	layoutFlags `embed:""`
	Dialect     string   `enum:"mysql,postgres,sqlite" default:"mysql" help:"mysql (MariaDB too), postgres or sqlite."`
	Table       []string `placeholder:"TABLE" help:"Only these tables. Default: all."`
	Functions   bool     `help:"Instead of tables the functions uid_time(id), uid_worker(id) and uid_first(time), for --layout."`
}

// Run prints one CREATE TABLE IF NOT EXISTS for each table, or the functions, ready to be piped
// into the database's own client.
func (c *schemaCmd) Run(p *program) error {
	switch {
	case c.Functions && len(c.Table) > 0:
		return usagef("--table is for tables, and --functions prints none")
	case !c.Functions && c.layoutFlags != layoutFlags{}:
		return usagef("--layout, --epoch and --tick are for --functions")
	case c.Functions:
		layout, err := c.resolveToMake()
		if err != nil {
			return err
		}
		text, err := functions(c.Dialect, layout.eras)
		if err == nil {
			_, err = fmt.Fprint(p.out, text)
		}
		return err
	}
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
