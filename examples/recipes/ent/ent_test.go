package ent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"

	"github.com/uidring/uidring/internal/dbtest"
)

// copyFile copies a file to a path whose folders it makes. Each of old, new in turn is replaced.
func copyFile(t *testing.T, from, to string, oldNew ...string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	edited := strings.NewReplacer(oldNew...).Replace(string(text))
	if err := os.WriteFile(to, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestClient makes a program of the hook and the schema as they are here, with the client that ent
// generates, and runs it. Its module has the requirements of examples.
func TestClient(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyFile(t, "../../go.mod", filepath.Join(dir, "go.mod"), "=> ..", "=> "+root+"/examples/..")
	copyFile(t, "../../go.sum", filepath.Join(dir, "go.sum"))
	copyFile(t, "hook.go", filepath.Join(dir, "ent/hook.go"))
	copyFile(t, "schema/order.go", filepath.Join(dir, "ent/schema/order.go"))
	copyFile(t, "testdata/client_test.go", filepath.Join(dir, "client_test.go"))
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	if err := entc.Generate("./ent/schema", &gen.Config{}); err != nil {
		t.Fatal(err)
	}
	// With -trimpath the folder's name is not part of what is compiled, so that the next run finds it
	// in the cache.
	build := exec.CommandContext(t.Context(), "go", "test", "-trimpath", "-c", "-o", "client.test", ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compiling the program with the generated client: %v\n%s", err, out)
	}
	run := func(t *testing.T, dsn string) {
		t.Helper()
		t.Setenv("DSN", dsn)
		if out, err := exec.CommandContext(t.Context(), "./client.test").CombinedOutput(); err != nil {
			t.Errorf("the program with the generated client: %v\n%s", err, out)
		}
	}
	t.Run("SQLite", func(t *testing.T) { run(t, "") })
	t.Run("MariaDB", func(t *testing.T) {
		server := dbtest.MariaDB(t)
		run(t, server.DSN(server.CreateDB(t)))
	})
}
