package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

type partitionsCmd struct {
	layoutFlags `embed:""`
	Table       string `arg:"" help:"The table, as the database has its name."`
	Dialect     string `enum:"mysql,postgres" default:"mysql" help:"mysql (MariaDB too) or postgres."`
	Column      string `default:"id" help:"The column of the ids."`
	By          string `enum:"month" default:"month" help:"How long a partition is: a month, of UTC."`
	Ahead       int    `default:"3" help:"How many months after this one get a partition, 0 to 120."`
}

// tableName is what quotes make a name of in both dialects, with a schema or without.
var tableName = regexp.MustCompile(`^[\pL\d_$]+(\.[\pL\d_$]+)?$`)

// columnName is the same for a column.
var columnName = regexp.MustCompile(`^[\pL\d_$]+$`)

// maxPostgresName is how many bytes of a name PostgreSQL keeps. It cuts the rest off, so the months
// of a table with a longer name would share one partition.
const maxPostgresName = 63

// Run prints what gives a table a partition for this month and each of the next ones. What exists
// already stays as it is, so the output may be run each month, or each day.
func (c *partitionsCmd) Run(p *program) error {
	layout, err := c.resolveToMake()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	now := p.now().UTC()
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	lowest, highest := layout.eras.Month(this.Year(), this.Month())
	if lowest > highest {
		return fmt.Errorf("the layout %s has no ids in %s", layout.eras, this.Format("2006-01"))
	}
	fmt.Fprintf(p.out, "-- %s\n", layout.eras)
	c.start(p, lowest)
	end := layout.last().MaxID()
	for i := range c.Ahead + 1 {
		month := this.AddDate(0, i, 0)
		lo, hi := layout.eras.Month(month.Year(), month.Month())
		if lo > hi {
			break
		}
		c.month(p, month.Format("200601"), lo, hi, hi == end)
	}
	return nil
}

// check refuses what no statement can be made of.
func (c *partitionsCmd) check() error {
	if !tableName.MatchString(c.Table) {
		return usagef("the table is %q, want letters, digits, _ and $", c.Table)
	}
	if !columnName.MatchString(c.Column) {
		return usagef("--column is %q, want letters, digits, _ and $", c.Column)
	}
	_, table, ok := strings.Cut(c.Table, ".")
	if !ok {
		table = c.Table
	}
	if most := maxPostgresName - len("_p202606"); c.Dialect == "postgres" && len(table) > most {
		return usagef("the table is %q, of %d bytes, want at most %d: PostgreSQL would cut the "+
			"names of its partitions", table, len(table), most)
	}
	if c.Ahead < 0 || c.Ahead > 120 {
		return usagef("--ahead is %d, want 0 to 120", c.Ahead)
	}
	return nil
}

// start prints what a table needs before its first month: one partition for all older ids. A table
// with partitions gets none, as the one that it had may have been dropped.
func (c *partitionsCmd) start(p *program, lowest int64) {
	if c.Dialect == "postgres" {
		fmt.Fprintf(p.out, "-- The table is made with PARTITION BY RANGE (%s).\n", c.Column)
		fmt.Fprintf(p.out, "DO 'BEGIN IF NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhparent = "+
			"''\"%s\"''::regclass) THEN\n  ", strings.ReplaceAll(c.Table, ".", `"."`))
		c.create(p, "old", "MINVALUE", fmt.Sprint(lowest))
		fmt.Fprintln(p.out, "END IF; END';")
		return
	}
	c.unless(p, "NOT NULL", fmt.Sprintf("PARTITION BY RANGE (`%s`) (PARTITION pold VALUES LESS "+
		"THAN (%d), PARTITION pmax VALUES LESS THAN MAXVALUE)", c.Column, lowest))
}

// month prints the partition of a month. The last one that a layout has ids for has no end.
func (c *partitionsCmd) month(p *program, name string, lo, hi int64, last bool) {
	end := fmt.Sprint(hi + 1)
	switch {
	case c.Dialect == "postgres" && last:
		c.create(p, "p"+name, fmt.Sprint(lo), "MAXVALUE")
	case c.Dialect == "postgres":
		c.create(p, "p"+name, fmt.Sprint(lo), end)
	case !last: // else pmax has its ids
		c.unless(p, "'p"+name+"'", fmt.Sprintf("REORGANIZE PARTITION pmax INTO (PARTITION p%s "+
			"VALUES LESS THAN (%s), PARTITION pmax VALUES LESS THAN MAXVALUE)", name, end))
	}
}

// create prints PostgreSQL's statement for a partition.
func (c *partitionsCmd) create(p *program, name, from, to string) {
	table := strings.ReplaceAll(c.Table, ".", `"."`)
	fmt.Fprintf(p.out, "CREATE TABLE IF NOT EXISTS \"%s_%s\" PARTITION OF \"%s\" "+
		"FOR VALUES FROM (%s) TO (%s);\n", table, name, table, from, to)
}

// unless prints MySQL's ALTER TABLE, which runs unless the table has a partition of the name, or
// any if that is NOT NULL. The server has no IF NOT EXISTS for partitions.
func (c *partitionsCmd) unless(p *program, name, change string) {
	schema, table := "DATABASE()", c.Table
	if before, after, ok := strings.Cut(c.Table, "."); ok {
		schema, table = "'"+before+"'", after
	}
	is := " = "
	if name == "NOT NULL" {
		is = " IS "
	}
	fmt.Fprintf(p.out, "SET @uid_change = IF(EXISTS(SELECT 1 FROM information_schema.PARTITIONS "+
		"WHERE TABLE_SCHEMA = %s AND TABLE_NAME = '%s' AND PARTITION_NAME%s%s), 'DO 0',\n"+
		"  'ALTER TABLE `%s` %s');\nPREPARE uid_change FROM @uid_change;\nEXECUTE uid_change;\n",
		schema, table, is, name, strings.ReplaceAll(c.Table, ".", "`.`"), change)
}
