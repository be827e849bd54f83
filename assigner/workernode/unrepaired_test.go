package workernode_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestRestoredUnrepaired: an owner that cannot repair its row at once knows all the same that the
// table went back. It repairs the row with its next attempt, and its claim is lost even if the row
// is as it left it by then.
func TestRestoredUnrepaired(t *testing.T) {
	t.Parallel()
	const back = "INSERT INTO WORKER_LEASE SELECT * FROM KEPT"
	for _, tt := range []struct {
		name string
		lies int
		made bool   // the repair, without an answer
		then string // what happens before the next Extend
		row  string // fencing token and owner
	}{
		{name: "an attempt fails", lies: 1, row: "2\t"},
		{name: "an answer is lost", lies: 1, made: true, row: "2\t"},
		{name: "the row is back", lies: 3, then: back, row: "1\tthe owner"},
		{name: "an older row is back", lies: 3,
			then: back + "; UPDATE WORKER_LEASE SET GENERATION = 0, UNTIL_MS = 5 WHERE WORKER_ID = 1", row: "2\t"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv, name := maria(t)
			l, db := newLiar(t, srv.DSN(name))
			_, at := clocked(t, db)
			a := workernode.Leased(db, &workernode.LeasedOptions{Namespace: "orders", First: 1})
			begin := time.Now().Truncate(time.Second)
			at(begin)
			c := assign(t, a, 1)[0]
			_, end := c.Window()
			srv.Query(t, name, "UPDATE WORKER_LEASE SET OWNER = 'the owner' WHERE WORKER_ID = 1; "+
				"CREATE TABLE KEPT AS SELECT * FROM WORKER_LEASE WHERE WORKER_ID = 1; "+
				"DELETE FROM WORKER_LEASE WHERE WORKER_ID <> -1")
			l.lie("INSERT INTO WORKER_LEASE", tt.lies, tt.made, context.Canceled)
			_, err := c.Extend(t.Context(), end.Add(time.Hour))
			if tt.then != "" {
				if err == nil || errors.Is(err, assigner.ErrClaimLost) {
					t.Errorf("Extend without an answer = %v, want an error that passes", err)
				}
				srv.Query(t, name, tt.then)
				_, err = c.Extend(t.Context(), end.Add(time.Hour))
			}
			if !errors.Is(err, assigner.ErrWentBack) || strings.Contains(err.Error(), "could not be repaired") {
				t.Errorf("Extend = %v, want ErrWentBack, repaired", err)
			}
			wantError(t, err, "is gone") // as it was found at first
			end = begin.Add(day)
			if tt.name == "the row is back" {
				_, end = c.Window()
			}
			want := fmt.Sprintf("%s\t%d", tt.row, end.UnixMilli())
			if got := srv.Query(t, name, "SELECT GENERATION, OWNER, UNTIL_MS FROM WORKER_LEASE "+
				"WHERE WORKER_ID = 1"); got != want {
				t.Errorf("the row is %q, want %q", got, want)
			}
			at(begin.Add(2 * day))
			next, err := workernode.At(a, func() time.Time { return begin.Add(2 * day) }).Assign(t.Context(), maxWorker)
			if err != nil || next.Worker() != 1 {
				t.Fatalf("Assign when the window has passed = %v, %v, want worker 1", next, err)
			}
			if from, _ := next.Window(); from.Before(end) {
				t.Errorf("its window begins at %v, want %v or later", from, end)
			}
		})
	}
}

// TestRestoredTakeoverUnrepaired: an Assign that finds the table gone back and cannot repair the
// row leaves that to the next one, which says the same.
func TestRestoredTakeoverUnrepaired(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	l, db := newLiar(t, srv.DSN(name))
	a := workernode.Leased(db, nil)
	release(t, assign(t, a, 1)[0], time.Now().Add(-time.Hour))
	restore := backup(t, srv, name)
	_, end := assign(t, a, 1)[0].Window()
	restore()
	l.lie("UPDATE WORKER_LEASE", 1, false, context.Canceled)
	for i, row := range []string{"2", "4"} {
		_, err := a.Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrWentBack) {
			t.Fatalf("Assign %d = %v, want ErrWentBack", i, err)
		}
		wantError(t, err, "it was at fencing token 3 ")
		if got := srv.Query(t, name, "SELECT GENERATION FROM WORKER_LEASE WHERE WORKER_ID = 1"); got != row {
			t.Errorf("Assign %d leaves the row at fencing token %s, want %s", i, got, row)
		}
	}
	if c := assign(t, a, 1)[0]; c.Worker() != 2 {
		t.Errorf("worker = %d, want 2: 1 is in use until %v", c.Worker(), end)
	}
}

// TestRestoredDenied: an owner that may not repair its row says what it found, and why the row is as
// it was.
func TestRestoredDenied(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	restore := backup(t, srv, name)
	user := "writer_" + name
	srv.Exec(t, "CREATE USER "+user+"@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE ON "+name+".* TO "+user+"@'%'")
	db := connect(t, user+":"+dbtest.Password+"@tcp("+srv.Addr()+")/"+name)
	pool(t, db).SetMaxIdleConns(-1) // what a session may do is settled when it begins
	c := assign(t, workernode.Leased(db, nil), 1)[0]
	_, until := c.Window()
	restore()
	srv.Exec(t, "REVOKE INSERT ON "+name+".* FROM "+user+"@'%'")
	_, err := c.Extend(t.Context(), until.Add(time.Hour))
	if !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend = %v, want ErrWentBack", err)
	}
	wantError(t, err, "is gone", "could not be repaired", "denied")
	release(t, c, until)
}
