// ent's generator does not build where an int has 32 bits.

//go:build !386 && !arm

package uident

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	_ "github.com/go-sql-driver/mysql" // of the program, so that go.mod has it
	_ "github.com/jackc/pgx/v5/stdlib" // and this

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

// program makes a folder of testdata/program and the client that ent generates of its schema, compiles
// the program and its tests, and returns the folder. Its module has the requirements of this one.
func program(t *testing.T) (dir string) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/program")); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("module github.com/uidring/uidring/uid/uident", "module example.com/orders",
		"=> ../..", "=> "+filepath.Join(here, "../..")+"\n\nreplace github.com/uidring/uidring/uid/uident => "+here,
		"\tgithub.com/uidring/uidring v0.0.0\n",
		"\tgithub.com/uidring/uidring v0.0.0\n\tgithub.com/uidring/uidring/uid/uident v0.0.0\n").Replace(string(mod))
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	if err := entc.Generate("./ent/schema", &gen.Config{}); err != nil {
		t.Fatal(err)
	}
	// With -trimpath the folder's name is not part of what is compiled, so that the next run finds it
	// in the cache.
	for _, args := range [][]string{{"build", "-trimpath", "-o", "orders", "."},
		{"test", "-trimpath", "-c", "-o", "orders.test", "."}} {
		if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", args[0], err, out)
		}
	}
	return dir
}

// TestProgram: a program with ent's own generated client runs, and so do its tests, on both servers.
func TestProgram(t *testing.T) {
	dbtest.Long(t, "ent") // a client is generated and compiled
	dir := program(t)
	for name, server := range map[string]struct {
		start           func(testing.TB, ...string) *dbtest.Server
		dialect, driver string
	}{
		"MariaDB":    {dbtest.MariaDB, "mysql", "mysql"},
		"PostgreSQL": {dbtest.Postgres, "postgres", "pgx"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := server.start(t)
			run := func(args ...string) []byte {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), filepath.Join(dir, args[0]), args[1:]...)
				cmd.Env = append(os.Environ(), "DSN="+srv.DSN(srv.CreateDB(t)))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v\n%s", args, err, out)
				}
				return out
			}
			run("orders.test", "-test.v")
			if out := run("orders", server.dialect, server.driver); bytes.Count(out, []byte(" 0 ")) != 2 &&
				bytes.Count(out, []byte(" 1 ")) != 2 {
				t.Errorf("the program prints %q, want two orders of one worker", out)
			}
		})
	}
}

// row is a new row of a type with the key.
type row struct {
	ent.Mutation
	id uid.ID
}

func (*row) Op() ent.Op           { return ent.OpCreate }
func (r *row) ID() (uid.ID, bool) { return r.id, r.id != 0 }
func (r *row) SetID(id uid.ID)    { r.id = id }

// fills notes the lengths of what Fill is called for.
type fills struct {
	*uidtest.Generator
	lengths []int
}

func (f *fills) Fill(ctx context.Context, ids []uid.ID) (int, error) {
	f.lengths = append(f.lengths, len(ids))
	return f.Generator.Fill(ctx, ids)
}

// TestManyRows: rows without end are Fills with a bound, of a batch and of mutators that never run. Each
// row has an id of its own.
func TestManyRows(t *testing.T) {
	t.Parallel()
	gen := &fills{Generator: &uidtest.Generator{}}
	hook := Fill(gen)
	built := func(n int) []ent.Mutator {
		m := make([]ent.Mutator, n)
		for i := range m {
			m[i] = hook(ent.MutateFunc(func(context.Context, ent.Mutation) (ent.Value, error) { return nil, nil }))
		}
		return m
	}
	used := map[uid.ID]bool{}
	run := func(m ent.Mutator) {
		t.Helper()
		r := &row{}
		if _, err := m.Mutate(t.Context(), r); err != nil || r.id == 0 || used[r.id] {
			t.Fatalf("Mutate() gives the id %d, %v, given before: %v", r.id, err, used[r.id])
		}
		used[r.id] = true
	}
	for _, m := range built(maxFill + 2000) {
		run(m)
	}
	built(maxFill + 1) // a hook before has refused them
	run(built(1)[0])
	run(built(1)[0])
	if want := []int{maxFill, 2000, maxFill, 1}; !slices.Equal(gen.lengths, want) {
		t.Errorf("Fill() is called for %v ids, want %v", gen.lengths, want)
	}
}

// TestProgramLines: a program needs less than 20 lines about ids.
func TestProgramLines(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(os.DirFS("testdata/program"), "main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, opened, _ := strings.Cut(string(text), "\nfunc open(")
	opened, _, _ = strings.Cut(opened, "\n}\n")
	if n := strings.Count(opened, "\n") + 2; n >= 20 {
		t.Errorf("open has %d lines, want less than 20", n)
	}
}
