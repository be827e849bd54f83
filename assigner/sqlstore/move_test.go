package sqlstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestMoveRights: an account that must not stop WORKER_NODE is refused before the source is sealed, in a
// dry run too. With the right it moves, while another transaction holds the table.
func TestMoveRights(t *testing.T) {
	t.Parallel()
	dsn := tables(t)
	srv, name := servers.MariaDB(t), dsn[strings.LastIndex(dsn, "/")+1:]
	name, _, _ = strings.Cut(name, "?")
	user := "move_" + name
	srv.Exec(t, "CREATE USER "+user+"@'%' IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE ON "+name+".* TO "+user+"@'%'")
	own := user + ":" + dbtest.Password + "@tcp(" + srv.Addr() + ")/" + name
	assign := func() error {
		_, err := start(t, own, "default", nil).Assign(t.Context(), 100)
		return err
	}
	if err := assign(); err != nil {
		t.Fatal(err)
	}
	move := func(dry bool) error {
		_, err := lease.Move(t.Context(), start(t, own, "default", nil).(*lease.Assigner),
			start(t, own, "orders", nil).(*lease.Assigner), &lease.MoveOptions{DryRun: dry})
		return err
	}
	for _, dry := range []bool{true, false} {
		if err := move(dry); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Move without LOCK TABLES, dry run %v = %v, want ErrRefused", dry, err)
		}
		if err := assign(); err != nil {
			t.Errorf("Assign after a move that is refused = %v", err)
		}
	}
	srv.Exec(t, "GRANT LOCK TABLES ON "+name+".* TO "+user+"@'%'")
	tx, err := open(t, dsn).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const insert = "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) " +
		"VALUES ('java', '1', 2, CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"
	if _, err := tx.ExecContext(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	if err := move(true); err != nil {
		t.Errorf("a dry run while a transaction holds WORKER_NODE = %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := move(false); err != nil {
		t.Fatal(err)
	}
	if err := assign(); !errors.Is(err, assigner.ErrMoved) {
		t.Errorf("Assign after the move = %v, want ErrMoved", err)
	}
}
