package sqldb

import (
	"strconv"
	"strings"
)

// Dialect holds what differs between the databases. Times in rows are of the database's clock,
// because the clocks of the machines that write rows differ.
type Dialect struct {
	// Name is "mysql", also for MariaDB, "postgres" or "sqlite", as GORM's dialectors have it.
	Name      string
	ForUpdate string // ends a SELECT that locks its rows and reads committed values
	ForShare  string // likewise, and others may read the rows so at the same time, if they can

	clear     string // ends the transaction that is open in a session, if any
	end       string // commits what statements have not committed themselves; empty: not needed
	nowMillis string // the current time in unix milliseconds, whatever the session's time zone
	now       string // the current time as the tables' columns hold it
	today     string // the current date, UTC
	seconds   string // a column of such times in unix seconds; $ stands for the column
	numbered  bool   // placeholders are $1, $2, ... instead of ?
	quote     string // around a name
	returning bool   // the key of a new row comes from RETURNING, not from the driver
}

// dialects are the supported dialects by Name.
var dialects = map[string]Dialect{
	"mysql": {
		Name:      "mysql",
		ForUpdate: " FOR UPDATE",
		ForShare:  " FOR UPDATE", // two that share a row and change it before a COMMIT deadlock
		clear:     "COMMIT",
		end:       "COMMIT", // does nothing with autocommit
		// UNIX_TIMESTAMP(NOW(3)) would convert from local time and be an hour off when clocks are
		// set back.
		nowMillis: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000",
		now:       "UTC_TIMESTAMP()",
		today:     "UTC_DATE()",
		seconds:   "TIMESTAMPDIFF(SECOND, '1970-01-01', $)",
		quote:     "`",
	},
	"postgres": {
		Name:      "postgres",
		ForUpdate: " FOR UPDATE",
		ForShare:  " FOR SHARE",
		clear:     "BEGIN; COMMIT", // a COMMIT alone logs a warning on the server
		nowMillis: "CAST(FLOOR(EXTRACT(EPOCH FROM CLOCK_TIMESTAMP()) * 1000) AS BIGINT)",
		now:       "CLOCK_TIMESTAMP()",
		today:     "CAST(CLOCK_TIMESTAMP() AT TIME ZONE 'UTC' AS DATE)",
		seconds:   "CAST(FLOOR(EXTRACT(EPOCH FROM $)) AS BIGINT)",
		numbered:  true,
		quote:     `"`,
		returning: true,
	},
	"sqlite": {
		Name:      "sqlite",
		clear:     "BEGIN; COMMIT", // fails inside a transaction
		nowMillis: "CAST((JULIANDAY('now') - 2440587.5) * 86400000 AS INTEGER)",
		now:       "CURRENT_TIMESTAMP",
		today:     "CURRENT_DATE",
		seconds:   "CAST(STRFTIME('%s', $) AS INTEGER)",
		quote:     "`",
	},
}

// Quote returns the name of a table, or schema.table, as statements have it. A part of the name
// that has its quotes already stays as it is.
func (d Dialect) Quote(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		bare := strings.TrimSuffix(strings.TrimPrefix(p, d.quote), d.quote)
		if len(p) != len(bare)+2 || strings.Contains(bare, d.quote) {
			parts[i] = d.quote + strings.ReplaceAll(p, d.quote, d.quote+d.quote) + d.quote
		}
	}
	return strings.Join(parts, ".")
}

// Expand replaces the placeholders of a statement: {nowMillis}, {now}, {today} and {seconds COLUMN}
// by the dialect's expressions, and ? by $1, $2, ... if the dialect needs that. A statement must
// not have other braces or question marks. A Conn expands every statement.
func (d Dialect) Expand(query string) string {
	query = strings.NewReplacer("{nowMillis}", d.nowMillis, "{now}", d.now, "{today}",
		d.today).Replace(query)
	for {
		before, rest, found := strings.Cut(query, "{seconds ")
		if !found {
			break
		}
		column, after, _ := strings.Cut(rest, "}")
		query = before + strings.ReplaceAll(d.seconds, "$", column) + after
	}
	if !d.numbered {
		return query
	}
	var b strings.Builder
	for i := 1; ; i++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(i))
		query = after
	}
}

// locks reports whether a SELECT locks its rows.
func (d Dialect) locks(query string) bool {
	return d.ForUpdate != "" &&
		(strings.HasSuffix(query, d.ForUpdate) || strings.HasSuffix(query, d.ForShare))
}
