package workernode

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// failure is what an error of a database means for whoever asked.
type failure int

const (
	transient failure = iota // passes by itself: down, overloaded, locked, cut off, read-only
	duplicate                // the row exists
	missing                  // a table or a column does not exist
	denied                   // wrong account, password or privileges
	permanent                // anything else that the database refuses
)

// The tables of codes hold what is not permanent. A code that is not listed is a refusal that would come again.
var (
	// mysqlFailures: from MySQL's and MariaDB's lists of server errors; 9000 and above are TiDB's.
	mysqlFailures = map[failure][]int{
		duplicate: {1022, 1062, 1586},
		missing:   {1051, 1054, 1146},
		denied:    {1044, 1045, 1130, 1142, 1143, 1227, 1370, 1698, 1820, 1862, 3118, 3159, 4151},
		transient: {
			3, 20, 1020, 1021, 1026, 1028, 1037, 1038, 1040, 1041, 1047, 1053, 1077, 1078, 1079, 1080, 1099, 1105, 1114, 1129, 1135,
			1152, 1153, 1156, 1158, 1159, 1160, 1161, 1180, 1184, 1203, 1205, 1206, 1213, 1223, 1226, 1290, 1297, 1317, 1412, 1614,
			1637, 1792, 1836, 1927, 1969, 2006, 2013, 3024, 3032, 3100, 3101, 3168, 3572, 4031, 9001, 9002, 9003, 9004, 9005, 9007,
		},
	}
	// engineFailures: the numbers in the text of engineError that pass. From 120 on they are the engines' own, below the operating
	// system's: memory, files, locks, a full or write-protected disk, and what no engine has a better word for. Not
	// among them is what is wrong with the table itself, such as a crash mark or a missing tablespace.
	engineFailures = []int{5, 11, 12, 23, 24, 28, 30, 122, 128, 135, 136, 146, 147, 149, 157, 161, 165, 168, 177, 188, 189, 197, 200}
	// postgresFailures: SQLSTATE codes, or the two digits of a whole class.
	postgresFailures = map[failure][]string{
		duplicate: {"23505", "42710", "42P07"},
		missing:   {"42P01", "42703", "3F000"},
		denied:    {"28", "42501"},
		transient: {"08", "25006", "40", "53", "55", "57", "58", "XX000"},
	}
	// sqliteFailures: SQLite's messages are a fixed text and a detail, and its drivers differ in how they show the code.
	sqliteFailures = map[failure][]string{
		duplicate: {"UNIQUE constraint failed"},
		missing:   {"no such table", "no such column", "has no column named"},
		denied:    {"attempt to write a readonly database", "unable to open database file", "authorization denied"},
		transient: {"is locked", "SQLITE_BUSY", "SQLITE_LOCKED", "disk I/O error", "database or disk is full", "interrupted"},
	}
	// driverRefusals: what the drivers conclude from the server's greeting and from the configuration, without a code.
	driverRefusals = []string{
		"TLS requested but server does not support TLS", "server refused TLS connection", "this authentication plugin is not supported",
		"this user requires clear text authentication", "this user requires mysql native password authentication",
		"this user requires old password authentication", "server does not support required protocol",
	}
	// order is in which the tables are searched.
	order = []failure{duplicate, missing, denied, transient}
)

// engineError is MySQL's code for whatever a storage engine has no code of the server's for; its text has the engine's number.
const engineError = 1030

// classify says what err means. An error without a code from the server is the network's or the driver's and transient, unless it is
// about a setting of the connection: the server did not refuse anything.
func (d dialect) classify(err error) failure {
	if strings.Contains(err.Error(), "sql: database is closed") || unreadable(err) {
		return permanent
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return permanent
	}
	if slices.ContainsFunc(driverRefusals, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return permanent
	}
	switch d.name {
	case "mysql":
		code, text, ok := mysqlCode(err)
		if !ok {
			return transient
		}
		if code == engineError {
			return engine(text)
		}
		for _, f := range order {
			if slices.Contains(mysqlFailures[f], code) {
				return f
			}
		}
		return permanent
	case "postgres":
		var e interface{ SQLState() string }
		if !errors.As(err, &e) {
			return transient
		}
		return search(postgresFailures, func(prefix string) bool { return strings.HasPrefix(e.SQLState(), prefix) })
	default:
		if errors.Is(err, driver.ErrBadConn) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return transient
		}
		return search(sqliteFailures, func(text string) bool { return strings.Contains(err.Error(), text) })
	}
}

func search(table map[failure][]string, match func(string) bool) failure {
	for _, f := range order {
		if slices.ContainsFunc(table[f], match) {
			return f
		}
	}
	return permanent
}

// engine says what an engine's error means by the first number in its text, which is the engine's in every language of the server.
func engine(text string) failure {
	isDigit := func(r rune) bool { return '0' <= r && r <= '9' }
	begin := strings.IndexFunc(text, isDigit)
	if begin < 0 {
		return transient // not even the server knows
	}
	digits := text[begin:]
	if end := strings.IndexFunc(digits, func(r rune) bool { return !isDigit(r) }); end >= 0 {
		digits = digits[:end]
	}
	if n, err := strconv.Atoi(digits); err == nil && slices.Contains(engineFailures, n) {
		return transient
	}
	return permanent
}

// mysqlCode returns the server's error number in err, and its text. The driver's error is a struct with the fields Number and
// Message; its type is not named here so that the driver's version stays GORM's choice.
func mysqlCode(err error) (code int, text string, ok bool) {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.Indirect(reflect.ValueOf(err))
		if v.Kind() != reflect.Struct {
			continue
		}
		if n := v.FieldByName("Number"); n.IsValid() && n.Kind() == reflect.Uint16 {
			if m := v.FieldByName("Message"); m.IsValid() && m.Kind() == reflect.String {
				text = m.String()
			}
			return int(n.Uint()), text, true
		}
	}
	return 0, "", false
}

// advice is what to do about a failure.
func (f failure) advice() string {
	switch f {
	case missing:
		return "create the tables with workernode.Migrate, or from the DDL of package sql"
	case denied:
		return "check the account; it needs SELECT, INSERT and UPDATE on WORKER_NODE and WORKER_LEASE, and CREATE for Migrate"
	}
	return ""
}
