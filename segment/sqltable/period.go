package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// names is the table of the names of periods. Every table of counters in a database shares it.
const names = "number_name"

// Begin makes the counter of a period if it is missing. One statement reads the row of the name
// with a lock, compares format and floor, and inserts the counter, so no Clear comes in between:
// either Begin is before the floor is raised, and Clear finds the counter and deletes it, or it is
// after, and finds the floor.
func (t *table) Begin(ctx context.Context, p segment.Period) error {
	if err := t.checkPeriod(p); err != nil {
		return err
	}
	return t.do(ctx, func(c *sqldb.Conn) error {
		if p.Tag == "" {
			if err := c.RequireKey(ctx, names, "name"); err != nil {
				return err
			}
			_, err := t.use(ctx, c, p)
			return err
		}
		return t.begin(ctx, c, p)
	})
}

// begin is Begin for a period that has a tag. The insert changes no row if the name is new, or has
// another format or floor, which use tells.
func (t *table) begin(ctx context.Context, c *sqldb.Conn, p segment.Period) error {
	newest := p.Number // the highest floor that lets the period begin
	if newest == 0 {
		newest = math.MaxInt64
	}
	insert := fmt.Sprintf("INSERT INTO %s (%s, %s, %s) SELECT ?, %d, %d FROM %s"+
		" WHERE name = ? AND format = ? AND counters = ? AND period_floor <= %d%s",
		t.sql, t.tag, t.at, t.step, t.counter(1, p.Step), p.Step, names, newest, c.ForUpdate)
	for range tries {
		n, err := c.Changed(ctx, insert, p.Tag, p.Name, p.Format, t.name)
		switch {
		case err != nil && t.db.Failure(err) == sqldb.Duplicate:
			// It was there before, or a tag is that the collation treats as equal.
			_, err = t.read(ctx, c, p.Tag, "")
			return err
		case err != nil || n == 1:
			return err
		}
		floor, err := t.use(ctx, c, p)
		if err != nil {
			return err
		}
		if floor > newest {
			return fmt.Errorf("%w: it is %d, and %q has the floor %d",
				segment.ErrPastPeriod, p.Number, p.Name, floor)
		}
	}
	return sqldb.ErrChanged
}

// use makes the row of a name at its first use. It returns the floor, or ErrFormat if the name has
// another format or its counters are in another table.
func (t *table) use(ctx context.Context, c *sqldb.Conn, p segment.Period) (floor int64, err error) {
	for range tries {
		var format, counters string
		err := c.Row(ctx, "SELECT format, counters, period_floor FROM "+names+" WHERE name = ?"+
			c.ForUpdate, []any{p.Name}, &format, &counters, &floor)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = c.Exec(ctx, "INSERT INTO "+names+" (name, format, counters) VALUES (?, ?, ?)",
				p.Name, p.Format, t.name)
			if err == nil || t.db.Failure(err) != sqldb.Duplicate {
				return 0, err
			}
			continue // another process was first
		case err != nil:
			return 0, err
		case counters != t.name:
			return 0, fmt.Errorf("%w: the counters of %q are in table %q, not in %q",
				segment.ErrFormat, p.Name, counters, t.name)
		case format != p.Format:
			return 0, fmt.Errorf("%w: %q was first used with %q, not with %q",
				segment.ErrFormat, p.Name, format, p.Format)
		}
		return floor, nil
	}
	return 0, sqldb.ErrChanged
}

// checkPeriod checks the argument of Begin.
func (t *table) checkPeriod(p segment.Period) error {
	switch {
	case t.err != nil:
		return t.err
	case t.cycle:
		return invalid("Cycle is true, and counters of periods must not repeat")
	case t.elsewhere():
		return invalid("Table is %q, want it without a schema: formats and floors of numbers "+
			"are in number_name of the current one", t.name)
	case p.Name == "" || len(p.Name) > 32 || strings.Trim(p.Name, nameChars) != "":
		return invalid("Name is %q, want 1..32 of a-z, 0-9, - and _", p.Name)
	case len(p.Format) > 255:
		return invalid("Format has %d bytes, want at most 255", len(p.Format))
	case p.Tag == "":
		return nil
	case !strings.HasPrefix(p.Tag, p.Name+"@"):
		return invalid("Tag is %q, want %s@ at its start", p.Tag, p.Name)
	case p.Step < 1 || p.Step > segbound.Span/2 || p.Number < 0:
		return invalid("Step is %d and Number %d, want 1..%d and 0 or more", p.Step, p.Number,
			segbound.Span/2)
	}
	if err := checkTag(p.Tag, t.maxTag); err != nil {
		return invalid("%v", err)
	}
	return nil
}

// nameChars are the characters of names: every collation and every command line tells them apart.
const nameChars = "abcdefghijklmnopqrstuvwxyz0123456789-_"

// Names returns the rows of all names, whose counters are in this table. Without a table of names
// there are none, and in a table that is named with its schema Begin makes none.
func (t *table) Names(ctx context.Context) (list []segment.Name, err error) {
	if t.elsewhere() {
		return nil, t.err
	}
	err = t.do(ctx, func(c *sqldb.Conn) error {
		list = nil
		err := c.Each(ctx, func(rows *sql.Rows) error {
			var n segment.Name
			err := rows.Scan(&n.Name, &n.Format, &n.Floor)
			list = append(list, n)
			return err
		}, "SELECT name, format, period_floor FROM "+names+" WHERE counters = ?", t.name)
		if err != nil && t.db.Failure(err) == sqldb.Missing {
			return nil
		}
		return err
	})
	slices.SortFunc(list, func(a, b segment.Name) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// Clear raises the floor of a name and deletes the counters below it, some hundred at a time, by
// their keys: a scan would lock the counters of others. The floor is committed before the counters
// are listed. A process that holds a range of a deleted counter goes on with it, and with no other.
func (t *table) Clear(ctx context.Context, name string, floor int64) (deleted int, err error) {
	var tags []string
	raise := func(c *sqldb.Conn) error {
		n, err := c.Changed(ctx, fmt.Sprintf("UPDATE %s SET period_floor = CASE WHEN period_floor"+
			" < %d THEN %d ELSE period_floor END WHERE name = ? AND counters = ?",
			names, floor, floor), name, t.name)
		if err != nil || n == 1 {
			return err
		}
		floor, err = t.floor(ctx, c, name) // MySQL counts no row whose floor was as high already
		return err
	}
	if err := t.do(ctx, raise); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("sqltable: %w: no name %.64q in table %s", segment.ErrUnknownTag,
				name, t.name)
		}
		return 0, err
	}
	err = t.do(ctx, func(c *sqldb.Conn) error {
		tags = nil
		return c.Each(ctx, func(rows *sql.Rows) error {
			var tag string
			err := rows.Scan(&tag)
			if n, ok := periodOf(tag, name); ok && n < floor {
				tags = append(tags, tag)
			}
			return err
		}, "SELECT "+t.tag+" FROM "+t.sql+" WHERE "+t.tag+" LIKE ?", name+"@%")
	})
	for err == nil && len(tags) > 0 {
		some := tags[:min(len(tags), 500)]
		tags = tags[len(some):]
		args := make([]any, len(some))
		for i, tag := range some {
			args[i] = tag
		}
		var n int64
		err = t.do(ctx, func(c *sqldb.Conn) (err error) {
			n, err = c.Changed(ctx, "DELETE FROM "+t.sql+" WHERE "+t.tag+" IN (?"+
				strings.Repeat(", ?", len(some)-1)+")", args...)
			return err
		})
		deleted += int(n)
	}
	return deleted, err
}

// floor returns the floor of a name.
func (t *table) floor(ctx context.Context, c *sqldb.Conn, name string) (floor int64, err error) {
	err = c.Row(ctx, "SELECT period_floor FROM "+names+" WHERE name = ? AND counters = ?",
		[]any{name, t.name}, &floor)
	return floor, err
}

// periodOf returns the number of the period that a tag of a name has. A counter that never begins
// anew has none.
func periodOf(tag, name string) (number int64, ok bool) {
	rest, ok := strings.CutPrefix(tag, name+"@")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "@")
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil && number > 0
}

// refuseDelete refuses to delete the counter of a period by itself: the period could begin anew.
func (t *table) refuseDelete(ctx context.Context, c *sqldb.Conn, tag string) error {
	name, _, ok := strings.Cut(tag, "@")
	if !ok {
		return nil
	}
	floor, err := t.floor(ctx, c, name)
	switch {
	case err == nil:
		if n, ok := periodOf(tag, name); ok && n < floor {
			return nil
		}
		return invalid("%.128q counts a period of the number %q, which Clear deletes", tag, name)
	case errors.Is(err, sql.ErrNoRows) || t.db.Failure(err) == sqldb.Missing:
		return nil
	}
	return err
}
