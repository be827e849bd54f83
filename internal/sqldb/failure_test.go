package sqldb_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/internal/sqldb"
)

// pgError has the method of the PostgreSQL drivers' errors.
type pgError string

func (e pgError) Error() string    { return "ERROR: " + string(e) }
func (e pgError) SQLState() string { return string(e) }

// mysqlError is the error of a MySQL server with the given code.
func mysqlError(code uint16) error { return &mysql.MySQLError{Number: code} }

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect string
		err     error
		want    sqldb.Failure
	}{
		{"mysql", &mysql.MySQLError{Number: 1062}, sqldb.Duplicate},
		{"mysql", &mysql.MySQLError{Number: 1146}, sqldb.Missing},
		{"mysql", &mysql.MySQLError{Number: 1045}, sqldb.Denied},
		{"mysql", &mysql.MySQLError{Number: 1213}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1205}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1040}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1290}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1049}, sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1064}, sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1130}, sqldb.Denied}, // this host may not connect
		{"mysql", &mysql.MySQLError{Number: 1820}, sqldb.Denied}, // password expired
		{"mysql", errors.New("TLS requested but server does not support TLS"), sqldb.Permanent},
		{"mysql", errors.New("this authentication plugin is not supported"), sqldb.Permanent},
		{"mysql",
			fmt.Errorf("x: %w", &tls.CertificateVerificationError{
				Err: x509.UnknownAuthorityError{}}), sqldb.Permanent},
		{"postgres",
			fmt.Errorf("x: %w", &tls.CertificateVerificationError{
				Err: x509.HostnameError{Certificate: &x509.Certificate{}}}), sqldb.Permanent},
		{"postgres", errors.New("tls error: server refused TLS connection"), sqldb.Permanent},
		{"mysql", fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: 1146}), sqldb.Missing},
		{"mysql", &mysql.MySQLError{Number: 1026}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030,
			Message: `Got error 28 "No space left on device" from storage engine InnoDB`},
			sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Got error 168 - 'Unknown (generic) " +
			"error from engine' from storage engine"}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Fehler 189 (Speicher-Engine InnoDB)"}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Got error 12"}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Got error 30"}, sqldb.Transient},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "127 is the error"}, sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "199 is the error, not 200"}, sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Got error 127 from storage engine 28"}, sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Got error 1877 \"Unknown error " +
			"1877\" from storage engine InnoDB"}, sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1030, Message: "Got error 99999999999999999999"}, sqldb.Permanent},
		{"mysql", fmt.Errorf("wrapped: %w",
			&mysql.MySQLError{Number: 1030, Message: "Got error 13 \"Permission denied\""}),
			sqldb.Permanent},
		{"mysql",
			errors.New(
				`sql: Scan error on column index 1, name "NONCE": converting driver.Value type string ("x") to a int64: invalid syntax`), sqldb.Permanent},
		{"mysql", &mysql.MySQLError{Number: 1399}, sqldb.Transient}, // BEGIN inside an XA transaction
		{"postgres", pgError("25P02"), sqldb.Transient},             // BEGIN inside a failed transaction
		{"sqlite", errors.New("cannot start a transaction within a transaction"), sqldb.Transient},
		{"mysql", fmt.Errorf("x: %w", sqldb.ErrChanged), sqldb.Transient},
		{"sqlite", fmt.Errorf("x: %w", sqldb.ErrChanged), sqldb.Transient},
		{"mysql", driver.ErrBadConn, sqldb.Transient},
		{"mysql", io.ErrUnexpectedEOF, sqldb.Transient},
		{"mysql", context.DeadlineExceeded, sqldb.Transient},
		{"mysql", errors.New("sql: database is closed"), sqldb.Permanent},
		{"postgres", pgError("23505"), sqldb.Duplicate},
		{"postgres", pgError("42710"), sqldb.Duplicate}, // type: a table is made at the same time
		{"postgres", pgError("42P07"), sqldb.Duplicate}, // table
		{"postgres", pgError("42P01"), sqldb.Missing},
		{"postgres", pgError("28P01"), sqldb.Denied},
		{"postgres", pgError("42501"), sqldb.Denied},
		{"postgres", pgError("40001"), sqldb.Transient},
		{"postgres", pgError("57P03"), sqldb.Transient},
		{"postgres", pgError("25006"), sqldb.Transient},
		{"postgres", pgError("3D000"), sqldb.Permanent},
		{"postgres", fmt.Errorf("wrapped: %w", pgError("42P01")), sqldb.Missing},
		{"postgres", io.EOF, sqldb.Transient},
		{"sqlite", errors.New("UNIQUE constraint failed: WORKER_LEASE.NAMESPACE"), sqldb.Duplicate},
		{"sqlite", errors.New("SQL logic error: no such table: WORKER_NODE (1)"), sqldb.Missing},
		{"sqlite", errors.New("database is locked (5) (SQLITE_BUSY)"), sqldb.Transient},
		{"sqlite", errors.New("attempt to write a readonly database (8)"), sqldb.Denied},
		{"sqlite", errors.New("near \"SELEC\": syntax error"), sqldb.Permanent},
		{"sqlite", context.DeadlineExceeded, sqldb.Transient},
		{"sqlite", fmt.Errorf("x: %w", context.Canceled), sqldb.Transient},
		{"sqlite", driver.ErrBadConn, sqldb.Transient},
	} {
		if got := sqldb.DialectOf(tt.dialect).Failure(tt.err); got != tt.want {
			t.Errorf("Failure(%s, %v) = %d, want %d", tt.dialect, tt.err, got, tt.want)
		}
	}
}

// TestMySQLCode: only a MySQL server's error has a code.
func TestMySQLCode(t *testing.T) {
	t.Parallel()
	for code, err := range map[uint16]error{
		1061: fmt.Errorf("wrapped: %w", mysqlError(1061)), 0: fmt.Errorf("wrapped: %w", pgError("42P07")),
	} {
		if got := sqldb.MySQLCode(err); got != code {
			t.Errorf("MySQLCode(%v) = %d, want %d", err, got, code)
		}
	}
	if got := sqldb.MySQLCode(nil); got != 0 {
		t.Errorf("MySQLCode(nil) = %d, want 0", got)
	}
}

func TestNotInCharset(t *testing.T) {
	t.Parallel()
	for code, want := range map[uint16]bool{1267: true, 3854: true, 3988: true, 1366: false, 1213: false} {
		err := fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: code})
		if got := sqldb.NotInCharset(err); got != want {
			t.Errorf("NotInCharset(%v) = %v", err, got)
		}
	}
	if sqldb.NotInCharset(io.EOF) || sqldb.NotInCharset(nil) {
		t.Error("NotInCharset(EOF or nil) = true")
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dialect, query, want string }{
		{"mysql", "a ? {now} ?", "a ? UTC_TIMESTAMP() ?"},
		{"postgres", "a ? {now} ?", "a $1 CLOCK_TIMESTAMP() $2"},
		{"postgres", "{seconds A}, {seconds B}", "CAST(FLOOR(EXTRACT(EPOCH FROM A)) AS BIGINT), " +
			"CAST(FLOOR(EXTRACT(EPOCH FROM B)) AS BIGINT)"},
		{"sqlite", "{seconds A} < ?", "CAST(STRFTIME('%s', A) AS INTEGER) < ?"},
	} {
		if got := sqldb.DialectOf(tt.dialect).Expand(tt.query); got != tt.want {
			t.Errorf("Expand(%s, %q) = %q, want %q", tt.dialect, tt.query, got, tt.want)
		}
	}
}
