// Package nogorm has programs that use ids over database/sql and over pgx, without GORM.
package nogorm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/typed"
)

// TestPrograms builds each program and runs it twice on its server. Its ids are those of the rows, and it
// links no GORM.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...string) *dbtest.Server{
		"sql": dbtest.MariaDB, "pgx": dbtest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./"+name).Output()
			all := string(deps)
			if err != nil || !strings.Contains(all, "uidring/uid\n") || strings.Contains(all, "gorm.io") {
				t.Errorf("go list -deps = %v, want no GORM among\n%s", err, all)
			}
			source, err := os.ReadFile(name + "/main.go")
			if err != nil {
				t.Fatal(err)
			}
			_, open, _ := strings.Cut(string(source), "\nfunc open(")
			open, _, _ = strings.Cut(open, "\n}\n")
			if n := strings.Count(open, "\n") + 2; n >= 20 {
				t.Errorf("open has %d lines, want less than 20", n)
			}
			srv := start(t)
			program := filepath.Join(t.TempDir(), name)
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./"+name).
				CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			db := srv.CreateDB(t)
			var ids []string
			for range 2 {
				cmd := exec.CommandContext(t.Context(), program)
				cmd.Env = append(os.Environ(), "DSN="+srv.DSN(db))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				ids = append(ids, strings.Fields(string(out))...)
			}
			stored := strings.Fields(srv.Query(t, db, "SELECT id FROM orders"))
			slices.Sort(ids)
			slices.Sort(stored)
			if len(ids) != 4 || !slices.Equal(ids, stored) {
				t.Errorf("the program prints %q, and %q are stored", ids, stored)
			}
		})
	}
}

// orderType is the type of an order's id.
type orderType struct{}

func (orderType) Prefix() string { return "ord" }

// TestPgxTypes: pgx takes uid.ID and typed.ID for a bigint as they are: as arguments, in COPY, in a batch
// and in arrays, and scans them, also into structs, as what sqlc generates does. NULL is a nil pointer.
func TestPgxTypes(t *testing.T) {
	t.Parallel()
	srv := dbtest.Postgres(t)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, srv.DSN(srv.CreateDB(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(ctx, query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	type row struct {
		ID     uid.ID
		Typed  typed.ID[orderType]
		Parent *uid.ID
	}
	exec("CREATE TABLE rows (id BIGINT PRIMARY KEY, typed BIGINT, parent BIGINT)")
	parent := uid.ID(1<<63 - 1)
	rows := []row{{1, 10, nil}, {2, 20, &parent}, {3, 30, nil}, {parent, 40, &parent}}
	exec("INSERT INTO rows VALUES ($1, $2, $3)", rows[0].ID, rows[0].Typed, rows[0].Parent)
	batch := &pgx.Batch{}
	batch.Queue("INSERT INTO rows VALUES ($1, $2, $3)", rows[1].ID, rows[1].Typed, rows[1].Parent)
	if err := conn.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"rows"}, []string{"id", "typed", "parent"},
		pgx.CopyFromSlice(2, func(i int) ([]any, error) {
			return []any{rows[i+2].ID, rows[i+2].Typed, rows[i+2].Parent}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := conn.Query(ctx, "SELECT id, typed, parent FROM rows WHERE id = ANY($1) AND typed = ANY($2) ORDER BY id",
		[]uid.ID{1, 2, 3, parent}, []typed.ID[orderType]{10, 20, 30, 40})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := pgx.CollectRows(got, pgx.RowToStructByPos[row])
	if err != nil || len(stored) != len(rows) {
		t.Fatalf("%d rows, %v, want %d", len(stored), err, len(rows))
	}
	for i, r := range stored {
		same := r.Parent == nil && rows[i].Parent == nil ||
			r.Parent != nil && rows[i].Parent != nil && *r.Parent == *rows[i].Parent
		if r.ID != rows[i].ID || r.Typed != rows[i].Typed || !same {
			t.Errorf("row %d is stored as %v, want %v", i, r, rows[i])
		}
	}
	var all []uid.ID
	if err := conn.QueryRow(ctx, "SELECT ARRAY_AGG(id ORDER BY id) FROM rows").Scan(&all); err != nil ||
		!slices.Equal(all, []uid.ID{1, 2, 3, parent}) {
		t.Errorf("an array of ids is %v, %v", all, err)
	}
}
