package workernode_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/uidring/uidring/assigner/workernode"
)

// myError, pgError are shaped as the drivers' errors are.
type myError struct {
	Number  uint16
	Message string
}

func (e *myError) Error() string { return fmt.Sprintf("Error %d", e.Number) }

type pgError string

func (e pgError) Error() string    { return "ERROR: " + string(e) }
func (e pgError) SQLState() string { return string(e) }

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dialect string
		err     error
		want    string
	}{
		{"mysql", &myError{Number: 1062}, "duplicate"},
		{"mysql", &myError{Number: 1146}, "missing"},
		{"mysql", &myError{Number: 1045}, "denied"},
		{"mysql", &myError{Number: 1213}, "transient"},
		{"mysql", &myError{Number: 1205}, "transient"},
		{"mysql", &myError{Number: 1040}, "transient"},
		{"mysql", &myError{Number: 1290}, "transient"},
		{"mysql", &myError{Number: 1049}, "permanent"},
		{"mysql", &myError{Number: 1064}, "permanent"},
		{"mysql", &myError{Number: 1130}, "denied"}, // this host may not connect
		{"mysql", &myError{Number: 1820}, "denied"}, // password expired
		{"mysql", errors.New("TLS requested but server does not support TLS"), "permanent"},
		{"mysql", errors.New("this authentication plugin is not supported"), "permanent"},
		{"mysql", fmt.Errorf("x: %w", &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "permanent"},
		{"postgres", fmt.Errorf("x: %w", &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}}}), "permanent"},
		{"postgres", errors.New("tls error: server refused TLS connection"), "permanent"},
		{"mysql", fmt.Errorf("wrapped: %w", &myError{Number: 1146}), "missing"},
		{"mysql", &myError{Number: 1026}, "transient"},
		{"mysql", &myError{Number: 1030}, "transient"},
		{"mysql", &myError{1030, `Got error 28 "No space left on device" from storage engine InnoDB`}, "transient"},
		{"mysql", &myError{1030, "Got error 168 - 'Unknown (generic) error from engine' from storage engine"}, "transient"},
		{"mysql", &myError{1030, "Fehler 189 (Speicher-Engine InnoDB)"}, "transient"},
		{"mysql", &myError{1030, "Got error 12"}, "transient"},
		{"mysql", &myError{1030, "Got error 127 from storage engine 28"}, "permanent"},
		{"mysql", &myError{1030, "Got error 1877 \"Unknown error 1877\" from storage engine InnoDB"}, "permanent"},
		{"mysql", &myError{1030, "Got error 99999999999999999999"}, "permanent"},
		{"mysql", fmt.Errorf("wrapped: %w", &myError{1030, "Got error 13 \"Permission denied\""}), "permanent"},
		{"mysql", errors.New(`sql: Scan error on column index 1, name "NONCE": converting driver.Value type string ("x") to a int64: invalid syntax`), "permanent"},
		{"mysql", driver.ErrBadConn, "transient"},
		{"mysql", io.ErrUnexpectedEOF, "transient"},
		{"mysql", context.DeadlineExceeded, "transient"},
		{"mysql", errors.New("sql: database is closed"), "permanent"},
		{"postgres", pgError("23505"), "duplicate"},
		{"postgres", pgError("42710"), "duplicate"}, // type: a table is made at the same time
		{"postgres", pgError("42P07"), "duplicate"}, // table
		{"postgres", pgError("42P01"), "missing"},
		{"postgres", pgError("28P01"), "denied"},
		{"postgres", pgError("42501"), "denied"},
		{"postgres", pgError("40001"), "transient"},
		{"postgres", pgError("57P03"), "transient"},
		{"postgres", pgError("25006"), "transient"},
		{"postgres", pgError("3D000"), "permanent"},
		{"postgres", fmt.Errorf("wrapped: %w", pgError("42P01")), "missing"},
		{"postgres", io.EOF, "transient"},
		{"sqlite", errors.New("UNIQUE constraint failed: WORKER_LEASE.NAMESPACE"), "duplicate"},
		{"sqlite", errors.New("SQL logic error: no such table: WORKER_NODE (1)"), "missing"},
		{"sqlite", errors.New("database is locked (5) (SQLITE_BUSY)"), "transient"},
		{"sqlite", errors.New("attempt to write a readonly database (8)"), "denied"},
		{"sqlite", errors.New("near \"SELEC\": syntax error"), "permanent"},
		{"sqlite", context.DeadlineExceeded, "transient"},
		{"sqlite", driver.ErrBadConn, "transient"},
	} {
		if got := workernode.Classify(tt.dialect, tt.err); got != tt.want {
			t.Errorf("classify(%s, %v) = %s, want %s", tt.dialect, tt.err, got, tt.want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dialect, query, want string }{
		{"mysql", "a ? {now} ?", "a ? UTC_TIMESTAMP() ?"},
		{"postgres", "a ? {now} ?", "a $1 CLOCK_TIMESTAMP() $2"},
		{"postgres", "{seconds A}, {seconds B}", "CAST(FLOOR(EXTRACT(EPOCH FROM A)) AS BIGINT), CAST(FLOOR(EXTRACT(EPOCH FROM B)) AS BIGINT)"},
		{"sqlite", "{seconds A} < ?", "CAST(STRFTIME('%s', A) AS INTEGER) < ?"},
	} {
		if got := workernode.Expand(tt.dialect, tt.query); got != tt.want {
			t.Errorf("expand(%s, %q) = %q, want %q", tt.dialect, tt.query, got, tt.want)
		}
	}
}
