package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"gorm.io/gorm"
)

// onWarning is a handler that calls a function at the first warning, which is that the database is
// waited for.
type onWarning struct {
	slog.Handler
	once *sync.Once
	do   func()
}

func (h onWarning) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		h.once.Do(h.do)
	}
	return nil
}

func whenWaiting(do func()) *slog.Logger {
	return slog.New(onWarning{slog.DiscardHandler, &sync.Once{}, do})
}

// Enabled says yes, which slog.DiscardHandler does not.
func (h onWarning) Enabled(context.Context, slog.Level) bool { return true }

// TestAssignFull: an Assign on a full disk waits, whichever of its errors the server chooses, uses
// up nothing, and succeeds when there is room again. An engine's error that is not about room is an
// error at once.
func TestAssignFull(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code int
		text string
		wait bool
	}{
		{1021, "Disk full (/tmp); waiting for someone to free some space...", true},
		{1026, `Error writing file ''/var/lib/7'' (errno: 28 "No space left on device")`, true},
		{1030, `Got error 28 "No space left on device" from storage engine InnoDB`, true},
		{1030, `Got error 122 - ''Internal (unspecified) error in handler'' from storage engine`, true},
		{1030, "No space left on device", true},
		{1114, "The table ''WORKER_NODE'' is full", true},
		{1180, `Got error 28 "No space left on device" during COMMIT`, true},
		{1030, `Got error 194 "Tablespace is missing for a table" from storage engine InnoDB`, false},
		{1030, `Got error 176 "Read page with wrong checksum" from storage engine Aria`, false},
	} {
		t.Run(fmt.Sprint(tt.code, " ", tt.text[:12]), func(t *testing.T) {
			t.Parallel()
			for _, kind := range []string{"disposable", "leased, a new row", "leased, a free row"} {
				srv, name := maria(t)
				db := connect(t, srv.DSN(name))
				if kind == "leased, a free row" {
					release(t, assign(t, workernode.Leased(db, nil), 1)[0], time.Time{})
				}
				rows := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE")
				ats := []string{"UPDATE ON WORKER_LEASE", "INSERT ON WORKER_LEASE", "INSERT ON WORKER_NODE"}
				for i, at := range ats {
					srv.Query(t, name, fmt.Sprintf("CREATE TRIGGER full%d BEFORE %s FOR EACH ROW "+
						"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = '%s'",
						i, at, tt.code, tt.text))
				}
				waited := false
				logger := whenWaiting(func() {
					waited = true
					if got := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); got != rows {
						t.Errorf("%s: WORKER_NODE has %s rows on a full disk, want %s as before", kind, got, rows)
					}
					for i := range ats {
						srv.Query(t, name, fmt.Sprintf("DROP TRIGGER full%d", i))
					}
				})
				var a assigner.Assigner = workernode.Leased(db, &workernode.LeasedOptions{Logger: logger})
				if kind == "disposable" {
					a = workernode.Disposable(db, &workernode.DisposableOptions{Logger: logger})
				}
				c, err := a.Assign(within(t, 20*time.Second), maxWorker)
				if waited != tt.wait || (err == nil) != tt.wait {
					t.Errorf("%s: Assign = %v, %v after waiting: %v; want it to wait: %v",
						kind, c, err, waited, tt.wait)
				}
				if err == nil && c.Worker() != 1 {
					t.Errorf("%s: worker = %d, want 1", kind, c.Worker())
				}
			}
		})
	}
}

// liar answers changes of a table with an error, whether or not it makes them.
type liar struct {
	mu    sync.Mutex
	on    string // how the statements begin
	lies  int    // how many are left
	made  bool   // the change is made
	err   error
	after func()                  // is called before a lie; may be nil
	only  func(query string) bool // which statements; nil: all that begin so
}

func (l *liar) around(query string, run func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lies == 0 || !strings.HasPrefix(query, l.on) || l.only != nil && !l.only(query) {
		return run()
	}
	l.lies--
	if l.made {
		if err := run(); err != nil {
			return err
		}
	}
	if l.after != nil {
		l.after()
	}
	return l.err
}

// lie sets up the next lies.
func (l *liar) lie(on string, lies int, made bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on, l.lies, l.made, l.err = on, lies, made, err
}

// newLiar returns a pool whose statements a liar answers.
func newLiar(t *testing.T, dsn string) (*liar, *gorm.DB) {
	t.Helper()
	l := &liar{}
	return l, intercept(t, &dbtest.Interceptor{Connectors: connectors(t, dsn), Around: l.around})
}

// TestFullUnknownOutcome: the error of a full disk says nothing about whether the change was made:
// the log was full after the engine had committed, or before. Whatever was, no worker id has two
// owners, none but the one is used up, and what the claim says is what the row says.
func TestFullUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, code := range []uint16{1021, 1026, 1030, 1114, 1180} {
		for _, made := range []bool{false, true} {
			t.Run(fmt.Sprint(code, " made ", made), func(t *testing.T) {
				t.Parallel()
				full := &driver.MySQLError{Number: code, Message: `Got error 28 "No space left on device"`}
				for _, lies := range []int{1, 2, 5} {
					srv, name := maria(t)
					l, db := newLiar(t, srv.DSN(name))
					direct := workernode.Leased(connect(t, srv.DSN(name)), nil)
					var claims []assigner.Claim
					check := func(stage string, c assigner.Claim) {
						t.Helper()
						_, until := c.Window()
						row := srv.Query(t, name, fmt.Sprintf("SELECT UNTIL_MS FROM WORKER_LEASE "+
							"WHERE WORKER_ID = %d", c.Worker()))
						if want := fmt.Sprint(until.UnixMilli()); row != want {
							t.Errorf("%s, %d lies: UNTIL_MS = %s, want %s, the window's end", stage, lies, row, want)
						}
						if n := srv.Query(t, name, "SELECT COUNT(*) FROM WORKER_NODE"); n != fmt.Sprint(len(claims)) {
							t.Errorf("%s, %d lies: %s worker ids are used for %d claims", stage, lies, n, len(claims))
						}
					}
					take := func(stage, on string) assigner.Claim {
						t.Helper()
						l.lie(on, lies, made, full)
						c, err := workernode.Leased(db, nil).Assign(within(t, 20*time.Second), maxWorker)
						if err != nil {
							t.Fatalf("%s, %d lies: Assign = %v", stage, lies, err)
						}
						l.lie("", 0, false, nil)
						for _, other := range claims {
							if other.Worker() == c.Worker() {
								t.Errorf("%s, %d lies: worker %d has two owners", stage, lies, c.Worker())
							}
						}
						claims = append(claims, c)
						check(stage, c)
						return c
					}
					c := take("a new row", "INSERT INTO WORKER_LEASE")
					// The caller gets an error each time and tries again; the window is what the row says
					// by then.
					const generation = "SELECT GENERATION FROM WORKER_LEASE WHERE WORKER_ID = 1"
					var before, after int
					fmt.Sscan(srv.Query(t, name, generation), &before)
					_, until := c.Window()
					l.lie("UPDATE WORKER_LEASE", lies, made, full)
					until = until.Add(time.Hour)
					for range 3 {
						if _, err := c.Extend(t.Context(), until); err == nil {
							break
						} else if errors.Is(err, assigner.ErrClaimLost) {
							t.Fatalf("Extend, %d lies: %v", lies, err)
						}
					}
					l.lie("", 0, false, nil)
					if end, err := c.Extend(t.Context(), until); err != nil || end.Before(until) {
						t.Errorf("Extend, %d lies = %v, %v, want %v or later", lies, end, err, until)
					}
					check("extend", c)
					// A change that was read back counts once another one has been answered.
					want := 1
					if made {
						want += lies
					}
					fmt.Sscan(srv.Query(t, name, generation), &after)
					if after != before+want {
						t.Errorf("Extend, %d lies: token %d after %d, want %d changes", lies, after, before, want)
					}

					release(t, assign(t, direct, 1)[0], time.Now().Add(-time.Minute))
					if c = take("a free row", "UPDATE WORKER_LEASE"); c.Worker() != 2 {
						t.Errorf("a free row, %d lies: worker = %d, want 2", lies, c.Worker())
					}
				}
			})
		}
	}
}
