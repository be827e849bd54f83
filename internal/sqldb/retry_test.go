package sqldb_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/sqldb"
)

var (
	errDown    = errors.New("first") // without a code: transient
	errDown2   = errors.New("second")
	errRefused = mysqlError(1064)
)

// TestRetry: what ends the attempts, and the error that says so.
func TestRetry(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	d, _ := (&script{}).open(t, "mysql", slog.New(slog.NewTextHandler(&log, nil)))
	silent, _ := (&script{}).open(t, "mysql", nil)
	const few, waits = true, 1
	for _, tt := range []struct {
		name   string
		few    bool
		errs   []error // of the attempts; the last one is also that of all further ones
		cancel int     // the attempt in which ctx ends; 0: none
		calls  int
		want   string // the error
		is     []error
		warns  int
	}{
		{"success", !few, []error{nil}, 0, 1, "", nil, 0},
		{"few, success", few, []error{nil}, 0, 1, "", nil, 0},
		{"one failure", !few, []error{errDown, nil}, 0, 2, "", nil, waits},
		{"five failures", !few, []error{errDown, errDown2, errDown, errDown, errDown, nil}, 0, 6, "", nil, waits},
		{"few, two failures", few, []error{errDown, errDown, nil}, 0, 3, "", nil, 0},
		{"few, three failures", few, []error{errDown, errDown, errDown2, nil}, 0, 3,
			"tester: testing: mysql database: second", []error{errDown2}, 0},
		{"refused", !few, []error{errRefused}, 0, 1, "tester: testing: mysql database: Error 1064: ",
			[]error{errRefused}, 0},
		{"failure, refused", !few, []error{errDown, errRefused}, 0, 2,
			"tester: testing: mysql database: Error 1064: ", []error{errRefused}, waits},
		{"changed", !few, []error{sqldb.ErrChanged, nil}, 0, 2, "", nil, waits},
		{"missing", !few, []error{mysqlError(1146)}, 0, 1, "tester: testing: mysql database: Error 1146:  " +
			"(create the tables with tester.Migrate, or from the DDL of package sql)", []error{mysqlError(1146)}, 0},
		{"denied", !few, []error{mysqlError(1142)}, 0, 1, "tester: testing: mysql database: Error 1142:  " +
			"(check the account; it needs SELECT, INSERT and UPDATE on the tables, and CREATE for Migrate)",
			[]error{mysqlError(1142)}, 0},
		{"final", !few, []error{sqldb.Final(errDown)}, 0, 1, "first", []error{errDown}, 0},
		{"final after failure", !few, []error{errDown, sqldb.Final(errRefused)}, 0, 2, "Error 1064: ",
			[]error{errRefused}, waits},
		{"ctx ends", !few, []error{context.Canceled}, 1, 1, "tester: testing: mysql database: context canceled",
			[]error{context.Canceled}, 0},
		{"ctx ends, failure", !few, []error{errDown}, 1, 1,
			"tester: testing: mysql database: context canceled; last error: first",
			[]error{context.Canceled, errDown}, 0},
		{"ctx ends, bad connection", !few, []error{driver.ErrBadConn}, 1, 1, "tester: testing: mysql database: " +
			"context canceled; last error: driver: bad connection: the connection broke, or the server or the " +
			"session is read-only", []error{context.Canceled, driver.ErrBadConn}, 0},
		{"ctx ends, refused", !few, []error{errRefused}, 1, 1,
			"tester: testing: mysql database: context canceled; last error: Error 1064: ",
			[]error{context.Canceled, errRefused}, 0},
		{"ctx ends, success", !few, []error{nil}, 1, 1, "", nil, 0},
		// An error of the attempt in which ctx ends may be a consequence.
		{"failure, ctx ends, failure", !few, []error{errDown, errDown2}, 2, 2,
			"tester: testing: mysql database: context canceled; last error: first",
			[]error{context.Canceled, errDown}, waits},
		{"failures, ctx ends", !few, []error{errDown, errDown2, context.Canceled}, 3, 3,
			"tester: testing: mysql database: context canceled; last error: second",
			[]error{context.Canceled, errDown2}, waits},
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, d := range []*sqldb.DB{d, silent} {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				retry := d.Retry
				if tt.few {
					retry = d.Few
				}
				calls := 0
				log.Reset()
				err := retry(ctx, "testing", func(context.Context) error {
					if calls++; calls == tt.cancel || calls > len(tt.errs)+5 {
						cancel() // the latter ends a Retry that does not end
					}
					return tt.errs[min(calls, len(tt.errs))-1]
				})
				if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
					t.Errorf("%s: Retry = %v, want %q", tt.name, err, tt.want)
				}
				for _, is := range tt.is {
					if !errors.Is(err, is) {
						t.Errorf("%s: Retry = %v, want an error that wraps %v", tt.name, err, is)
					}
				}
				if calls != tt.calls {
					t.Errorf("%s: %d calls, want %d", tt.name, calls, tt.calls)
				}
				if d == silent {
					continue
				}
				const warning = `level=WARN msg="waiting for the database" doing=testing place="mysql database"`
				if n := strings.Count(log.String(), warning); n != tt.warns {
					t.Errorf("%s: %d warnings, want %d: %s", tt.name, n, tt.warns, log.String())
				}
			}
		})
	}
}

// TestRetryEnded: with a ctx that has ended nothing is tried.
func TestRetryEnded(t *testing.T) {
	t.Parallel()
	d, _ := (&script{}).open(t, "mysql", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := d.Retry(ctx, "testing", func(context.Context) error {
		t.Error("Retry tries")
		return nil
	})
	const want = "tester: testing: mysql database: context canceled"
	if !errors.Is(err, context.Canceled) || err.Error() != want {
		t.Errorf("Retry = %v, want %s", err, want)
	}
}

// TestRetryPauses: the pauses double from 20 ms to 3 s, each less up to half. Each attempt has ten
// seconds. A pause ends with ctx.
func TestRetryPauses(t *testing.T) {
	t.Parallel()
	d, _ := (&script{}).open(t, "mysql", nil)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pauses []time.Duration
		ended := time.Now() // the last attempt
		err := d.Retry(ctx, "testing", func(attempt context.Context) error {
			pauses = append(pauses, time.Since(ended))
			if end, ok := attempt.Deadline(); !ok || time.Until(end) != 10*time.Second {
				t.Errorf("attempt %d has until %v, %v, want ten seconds", len(pauses), time.Until(end), ok)
			}
			time.Sleep(5 * time.Second)
			ended = time.Now()
			if len(pauses) == 39 {
				time.AfterFunc(time.Second, cancel)
			}
			return errDown
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errDown) {
			t.Errorf("Retry = %v, want the ctx's error and the last one", err)
		}
		if got := time.Since(ended); len(pauses) != 39 || got != time.Second {
			t.Errorf("Retry ends %v after attempt %d, want 1s after attempt 39", got, len(pauses))
		}
		if pauses[0] != 0 {
			t.Errorf("the first attempt begins after %v", pauses[0])
		}
		longest := 20 * time.Millisecond
		for i, p := range pauses[1:] {
			if p < longest/2 || p >= longest {
				t.Errorf("pause %d is %v, want %v or up to half less", i, p, longest)
			}
			longest = min(2*longest, 3*time.Second)
		}
	})
}
