package workernode_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workerstore"
	"github.com/uidring/uidring/internal/workertable"
)

// answers is a database whose answers a test makes up. It is its only connection as well.
type answers struct {
	// to answers a statement with the row of its result, if any. Other statements change a row.
	to func(ctx context.Context, query string, args []driver.NamedValue) ([]driver.Value, error)
}

func (a *answers) Driver() driver.Driver                        { return nil }
func (a *answers) Connect(context.Context) (driver.Conn, error) { return a, nil }
func (a *answers) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (a *answers) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (a *answers) Close() error                                 { return nil }

func (a *answers) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	_, err := a.to(ctx, query, args)
	return driver.RowsAffected(1), err
}

func (a *answers) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	row, err := a.to(ctx, query, args)
	columns := make([]string, len(row))
	copy(columns, strings.Split(strings.TrimPrefix(query, "SELECT "), ", "))
	return &answer{row, columns}, err
}

// answer is a result of one row, or of none.
type answer struct {
	row     []driver.Value
	columns []string
}

func (a *answer) Columns() []string { return a.columns }
func (a *answer) Close() error      { return nil }
func (a *answer) Next(dest []driver.Value) error {
	if len(a.row) == 0 {
		return io.EOF
	}
	copy(dest, a.row)
	a.row = nil
	return nil
}

// storeOf returns the Store of a namespace in a database of a dialect with made-up answers.
func storeOf(t *testing.T, dialect, namespace string,
	to func(ctx context.Context, query string, args []driver.NamedValue) ([]driver.Value, error)) *workerstore.Store {
	t.Helper()
	pool := sql.OpenDB(&answers{to})
	t.Cleanup(func() { pool.Close() })
	d, err := sqldb.Open("workernode", pool, dialect, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := workerstore.Open(d, workertable.Node{},
		workerstore.Options{Namespace: namespace, AcceptLostUpdates: true})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStorePatience: each wait for a locked row may take twice as long as the one before, until a change
// succeeds, also one during a wait. A caller that gives up meanwhile has not met a lock.
func TestStorePatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storeOf(t, "mysql", "orders",
			func(ctx context.Context, query string, args []driver.NamedValue) ([]driver.Value, error) {
				if strings.HasPrefix(query, "UPDATE") && args[5].Value == int64(0) {
					<-ctx.Done() // somebody has locked the row
				}
				return nil, ctx.Err()
			})
		put := func(ctx context.Context, name string) error {
			_, err := s.Put(ctx, lease.Entry{Name: name, Version: "1 1 1"}, []byte(`{"token":"2"}`))
			return err
		}
		locked := func(want time.Duration) {
			t.Helper()
			begin := time.Now()
			err := put(t.Context(), "slot-0")
			if took := time.Since(begin); !errors.Is(err, lease.ErrBusy) || took != want {
				t.Errorf("Put of a locked row = %v after %v, want ErrBusy after %v", err, took, want)
			}
		}
		free := func() {
			t.Helper()
			if err := put(t.Context(), "slot-1"); err != nil {
				t.Error(err)
			}
		}
		locked(time.Second)
		locked(2 * time.Second)
		free()
		locked(time.Second)
		time.AfterFunc(time.Second, free)
		locked(2 * time.Second)
		locked(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := put(ctx, "slot-0"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, lease.ErrBusy) {
			t.Errorf("Put of a caller that waits for a second = %v, want its deadline", err)
		}
		locked(2 * time.Second)
	})
}

// TestStoreCharset: an owner that MySQL refuses for its characters is stored without them, the rest as it is.
func TestStoreCharset(t *testing.T) {
	t.Parallel()
	var sent []driver.Value
	s := storeOf(t, "mysql", "orders",
		func(_ context.Context, query string, args []driver.NamedValue) ([]driver.Value, error) {
			if strings.HasPrefix(query, "INSERT") {
				sent = nil
				for _, a := range args {
					sent = append(sent, a.Value)
				}
				if sent[0] == "žena" {
					return nil, &mysqldriver.MySQLError{Number: 3988}
				}
			}
			return nil, nil
		})
	_, err := s.Put(t.Context(), lease.Entry{Name: "slot-3"},
		[]byte(`{"gen":1,"token":"2","owner":"žena","layout":"a","until_ms":4}`))
	if want := "[?ena orders 3 1 2 4 a  orders -5 0 0 -1 ]"; err != nil || fmt.Sprint(sent) != want {
		t.Errorf("Put = %v, and stores %v, want %s", err, sent, want)
	}
}

// TestStoreCluster: WORKER_NODE is not stopped while other servers of a cluster may take INSERTs.
func TestStoreCluster(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		size, single driver.Value // nil: the server does not know the variable
		refused      bool
	}{{nil, nil, false}, {"0", nil, false}, {"1", "ON", false}, {"3", nil, true}, {nil, "OFF", true}} {
		s := storeOf(t, "mysql", "",
			func(_ context.Context, query string, _ []driver.NamedValue) ([]driver.Value, error) {
				switch {
				case strings.Contains(query, "'wsrep_cluster_size'") && tt.size != nil:
					return []driver.Value{"wsrep_cluster_size", tt.size}, nil
				case strings.Contains(query, "'group_replication_single_primary_mode'") && tt.single != nil:
					return []driver.Value{"group_replication_single_primary_mode", tt.single}, nil
				case strings.HasPrefix(query, "SELECT"):
					return []driver.Value{workertable.Raised}, nil // as a stop has left it
				}
				return nil, nil
			})
		for _, stop := range []bool{false, true} {
			if _, err := s.Endless(t.Context(), stop); (err != nil) != tt.refused || err != nil &&
				!errors.Is(err, lease.ErrRefused) {
				t.Errorf("Endless(%v) in a cluster of %v, with %v for one primary: %v, want refused: %v", stop, tt.size,
					tt.single, err, tt.refused)
			}
		}
	}
}

// TestStoreExhausted: that the worker ids are used up is no error of SQLite, which another call would meet again.
func TestStoreExhausted(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "sqlite", "", func(_ context.Context, query string, _ []driver.NamedValue) ([]driver.Value, error) {
		if strings.HasPrefix(query, "SELECT MAX(ID)") {
			return []driver.Value{int64(9)}, nil
		}
		return nil, nil
	})
	_, _, err := s.Number(t.Context(), 0, 9, 1)
	if !errors.Is(err, assigner.ErrWorkersExhausted) || errors.Is(err, lease.ErrRefused) {
		t.Errorf("Number = %v, want ErrWorkersExhausted", err)
	}
}

// TestStoreUnreadable: a row of SQLite that cannot be read is listed as that, by its name.
func TestStoreUnreadable(t *testing.T) {
	t.Parallel()
	s := storeOf(t, "sqlite", "orders",
		func(_ context.Context, query string, _ []driver.NamedValue) ([]driver.Value, error) {
			switch {
			case strings.HasPrefix(query, "SELECT WORKER_ID"):
				return []driver.Value{int64(3), int64(1), int64(1), "soon", "", ""}, nil
			case strings.HasPrefix(query, "SELECT LAYOUT"):
				return nil, nil // no header
			}
			return []driver.Value{int64(1)}, nil // the time
		})
	got, err := s.List(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != "slot-3" || got[0].Version != "unreadable" ||
		!strings.HasPrefix(string(got[0].Value), `WORKER_LEASE: the row of worker "3" in namespace "orders" cannot be read`) {
		t.Errorf("List = %q, %v, want a row that cannot be read", got, err)
	}
}

// deniedError is PostgreSQL's error for a right that the account lacks.
type deniedError struct{ error }

func (deniedError) SQLState() string { return "42501" }

// TestStorePostgres: PostgreSQL locks WORKER_NODE and raises its sequence for a stop, and says by itself whether
// the account may. It leaves a note alone that is there, and its Latest says when it has waited for another row.
func TestStorePostgres(t *testing.T) {
	t.Parallel()
	var sent []string
	may, deny, chosen, denied := true, -1, int64(5), deniedError{errors.New("permission denied")}
	to := func(_ context.Context, query string, _ []driver.NamedValue) ([]driver.Value, error) {
		if query == "BEGIN; COMMIT" || query == "ROLLBACK" {
			return nil, nil
		}
		sent = append(sent, query)
		switch {
		case len(sent)-1 == deny:
			return nil, denied
		case strings.HasPrefix(query, "SELECT HAS_TABLE_PRIVILEGE"):
			return []driver.Value{may}, nil
		case strings.HasPrefix(query, "SELECT MAX"), strings.HasSuffix(query, "RETURNING ID"):
			return []driver.Value{int64(7)}, nil
		case strings.Contains(query, "AS CHOSEN"):
			return []driver.Value{int64(3), int64(5), int64(1), int64(1), "", chosen}, nil
		}
		return nil, nil
	}
	s, ctx := storeOf(t, "postgres", "", to), t.Context()
	for stop, want := range map[bool][]string{
		false: {"SELECT MAX(ID)", "SELECT HAS_TABLE_PRIVILEGE"},
		true: {"BEGIN", "LOCK TABLE WORKER_NODE IN SHARE ROW EXCLUSIVE MODE", "SELECT MAX(ID)", "INSERT", "INSERT",
			fmt.Sprintf("SELECT SETVAL(PG_GET_SERIAL_SEQUENCE('WORKER_NODE', 'id'), %d)", workertable.Raised),
			"SELECT MAX(ID)", "COMMIT"},
	} {
		for deny = range want {
			sent = nil
			if _, err := s.Endless(ctx, stop); !errors.Is(err, lease.ErrRefused) || !errors.Is(err, denied) {
				t.Errorf("Endless(%v) whose statement %d is denied: %v, want that", stop, deny, err)
			}
		}
		deny, sent = -1, nil
		if highest, err := s.Endless(ctx, stop); err != nil || highest != 7 ||
			!slices.EqualFunc(sent, want, strings.HasPrefix) {
			t.Errorf("Endless(%v) = %d, %v, and sent %q, want 7, and %q", stop, highest, err, sent, want)
		}
	}
	may = false
	if _, err := s.Endless(ctx, false); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("Endless of an account that may not: %v, want ErrRefused", err)
	}
	s = storeOf(t, "postgres", "orders", to)
	for _, chosen = range []int64{5, 6} {
		if e, err := s.Latest(ctx); (err == nil) != (chosen == 5) || err != nil && !errors.Is(err, lease.ErrConflict) {
			t.Errorf("Latest = %+v, %v, of a row until 5 that was chosen with %d", e, err, chosen)
		}
	}
	sent = nil
	_, err := s.Put(ctx, lease.Entry{Name: "slot-3", Version: "1 1 5"}, []byte(`{"token":"2"}`))
	if err != nil || len(sent) != 2 || !strings.HasSuffix(sent[0], " ON CONFLICT DO NOTHING") {
		t.Errorf("Put = %v, and sent %q, want its note first", err, sent)
	}
}
