package sqldb

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Failure classifies an error of a database by what the caller can do.
type Failure int

// The failures.
const (
	Transient Failure = iota // another attempt may succeed: down, overloaded, locked, read-only
	Duplicate                // the row or the table exists
	Missing                  // a table or a column does not exist
	Denied                   // wrong account, password or privileges
	Permanent                // any other refusal
)

// The tables list the codes that are not permanent. An unlisted code is a refusal that would be
// repeated.
var (
	// mysqlFailures: from MySQL's and MariaDB's lists of server errors; 9000 and above are TiDB's.
	mysqlFailures = map[Failure][]uint16{
		Duplicate: {1022, 1050, 1062, 1586},
		Missing:   {1051, 1054, 1146},
		Denied:    {1044, 1045, 1130, 1142, 1143, 1227, 1370, 1698, 1820, 1862, 3118, 3159, 4151},
		Transient: {
			3, 20, 1020, 1021, 1026, 1028, 1037, 1038, 1040, 1041, 1047, 1053, 1077, 1078, 1079,
			1080, 1099, 1105, 1114, 1129, 1135, 1152, 1153, 1156, 1158, 1159, 1160, 1161, 1180,
			1184, 1203, 1205, 1206, 1213, 1223, 1226, 1290, 1297, 1317, 1399, 1400, 1412, 1614,
			1637, 1792, 1836, 1927, 1969, 2006, 2013, 3024, 3032, 3100, 3101, 3168, 3572, 4031,
			9001, 9002, 9003, 9004, 9005, 9007,
		},
	}
	// engineFailures: the transient numbers in the text of engineError. From 120 on they are the
	// storage engines' own; below, those of the operating system. They are about memory, files,
	// locks, a full or write-protected disk, and generic errors. Damage of the table itself, such
	// as a crash mark or a missing tablespace, is not listed.
	engineFailures = []int{
		5, 11, 12, 23, 24, 28, 30, 122, 128, 135, 136, 146, 147, 149, 157, 161, 165, 168, 177,
		188, 189, 197, 200,
	}
	// postgresFailures: SQLSTATE codes, or the first digits of a whole class.
	postgresFailures = map[Failure][]string{
		Duplicate: {"23505", "42710", "42P07"},
		Missing:   {"42P01", "42703", "3F000"},
		Denied:    {"28", "42501"},
		Transient: {"08", "25006", "25P02", "40", "53", "55", "57", "58", "XX000"},
	}
	// sqliteFailures: parts of SQLite's messages, because its drivers differ in how they expose the
	// code.
	sqliteFailures = map[Failure][]string{
		Duplicate: {"UNIQUE constraint failed"},
		Missing:   {"no such table", "no such column", "has no column named"},
		Denied: {
			"attempt to write a readonly database", "unable to open database file",
			"authorization denied",
		},
		Transient: {
			"is locked", "SQLITE_BUSY", "SQLITE_LOCKED", "disk I/O error",
			"database or disk is full", "interrupted", "within a transaction",
		},
	}
	// driverRefusals: errors without a code, which the drivers derive from the server's greeting
	// and from the configuration.
	driverRefusals = []string{
		"TLS requested but server does not support TLS", "server refused TLS connection",
		"this authentication plugin is not supported",
		"this user requires clear text authentication",
		"this user requires mysql native password authentication",
		"this user requires old password authentication",
		"server does not support required protocol",
	}
	// order is the order in which the tables are searched.
	order = []Failure{Duplicate, Missing, Denied, Transient}
)

// engineError is MySQL's code for an error of a storage engine that has no code of its own. The
// text has the engine's number.
const engineError = 1030

// Failure classifies err. An error without a code of the server comes from the network or the
// driver. It is transient, unless it is about a setting of the connection.
func (d Dialect) Failure(err error) Failure {
	if errors.Is(err, ErrChanged) {
		return Transient
	}
	// A *sql.DB that was closed stays so. database/sql has an error for it, and does not export it.
	if strings.Contains(err.Error(), "sql: database is closed") || Unreadable(err) {
		return Permanent
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return Permanent
	}
	for _, text := range driverRefusals {
		if strings.Contains(err.Error(), text) {
			return Permanent
		}
	}
	switch d.Name {
	case "mysql":
		var e *mysql.MySQLError
		if !errors.As(err, &e) {
			return Transient
		}
		if e.Number == engineError {
			return engine(e.Message)
		}
		return search(mysqlFailures, func(code uint16) bool { return code == e.Number })
	case "postgres":
		state := sqlState(err)
		if state == "" {
			return Transient
		}
		return search(postgresFailures, func(class string) bool {
			return strings.HasPrefix(state, class)
		})
	default:
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, context.Canceled) {
			return Transient
		}
		return search(sqliteFailures, func(text string) bool {
			return strings.Contains(err.Error(), text)
		})
	}
}

func search[T any](table map[Failure][]T, match func(T) bool) Failure {
	for _, f := range order {
		if slices.ContainsFunc(table[f], match) {
			return f
		}
	}
	return Permanent
}

// engine classifies an error of a storage engine by the first number in its text, which is the
// engine's number in every language of the server.
func engine(text string) Failure {
	numbers := strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if len(numbers) == 0 {
		return Transient // the server does not say
	}
	n, _ := strconv.Atoi(numbers[0]) // the largest int for a number that is too large
	if slices.Contains(engineFailures, n) {
		return Transient
	}
	return Permanent
}

// Lacks reports whether err says that a table or a column does not exist, in any of the dialects.
func Lacks(err error) bool {
	for _, d := range dialects {
		if d.Failure(err) == Missing {
			return true
		}
	}
	return false
}

// sqlState returns the code of a PostgreSQL server's error, and "" for any other error.
func sqlState(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// MySQLCode returns the code of a MySQL server's error, and 0 for any other error.
func MySQLCode(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// RolledBack reports whether err is a server's answer that it has rolled the work back, as it does
// with one of two changes that conflict. So the changes were not made, and rows that were read
// before may be old: a member of a cluster that lags finds out when it commits.
func (d Dialect) RolledBack(err error) bool {
	switch d.Name {
	case "mysql":
		return slices.Contains([]uint16{1180, 1205, 1213, 3100, 3101}, MySQLCode(err))
	case "postgres":
		// Class 40 is a transaction that was rolled back, but for 40003, whose outcome is unknown.
		state := sqlState(err)
		return strings.HasPrefix(state, "40") && state != "40003"
	}
	return false
}

// ReadOnly reports whether err is a server's answer that it, or the session, may not be written to:
// a replica, or a primary that was fenced. Another connection may find the new primary.
func (d Dialect) ReadOnly(err error) bool {
	switch d.Name {
	case "mysql":
		return slices.Contains([]uint16{1290, 1792, 1836}, MySQLCode(err))
	case "postgres":
		return sqlState(err) == "25006"
	}
	return false
}

// Unreadable reports whether err says that a value in a row cannot be converted to the type it is
// scanned into, such as text in a column of numbers on SQLite. It matches the text of database/sql,
// which has no type for the error.
func Unreadable(err error) bool {
	return strings.Contains(err.Error(), "sql: Scan error on column index")
}

// NotInCharset reports whether err says that a text has a character that the character set of the
// column it is compared with lacks, so no row has that text. MariaDB and MySQL 5 answer with the
// first code, MySQL 8 with the second for a literal and the third for a statement's argument.
func NotInCharset(err error) bool {
	code := MySQLCode(err)
	return code == 1267 || code == 3854 || code == 3988
}
