package repocheck

import (
	"encoding/json"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/uidring/uidring"

// apiServer is the folder of the API server that tests start.
const apiServer = "tools/kube-apiserver"

// goMod is what "go mod edit -json" prints, as far as these tests read it.
type goMod struct {
	Module    struct{ Path string }
	Go        string
	Toolchain string
	Require   []struct {
		Path     string
		Indirect bool
	}
	Replace []struct{ Old, New struct{ Path string } }
	Exclude []any
	Retract []any
}

// goWork is what "go work edit -json" prints.
type goWork struct {
	Go  string
	Use []struct{ DiskPath string }
}

// goJSON decodes the output of the go command, run in root.
func goJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal([]byte(goOutput(t, args...)), into); err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
}

func goOutput(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// TestModules holds the modules together: the go line of go.work or the library's, which README
// names, no toolchain line, a local replace of each module of this repository that one requires, and
// all of them but those below tools in the workspace. Kubernetes' own replacements are its module's,
// which no other module requires.
func TestModules(t *testing.T) {
	t.Parallel()
	var work goWork
	goJSON(t, &work, "work", "edit", "-json")
	var library goMod
	goJSON(t, &library, "mod", "edit", "-json", "go.mod")
	if want := "Go " + strings.TrimSuffix(library.Go, ".0") + " or newer"; !strings.Contains(read(t, english), want) {
		t.Errorf("%s lacks %q, the go line of go.mod", english, want)
	}
	var used []string
	for _, u := range work.Use {
		used = append(used, path.Clean(filepath.ToSlash(u.DiskPath)))
	}
	var folders []string
	for _, file := range find(t, func(p string) bool {
		return path.Base(p) == "go.mod" && !strings.Contains(p, "testdata/")
	}) {
		dir := path.Dir(file)
		folders = append(folders, dir)
		var mod goMod
		goJSON(t, &mod, "mod", "edit", "-json", filepath.FromSlash(file))
		if want := path.Join(module, dir); mod.Module.Path != want {
			t.Errorf("%s: module is %s, want %s", file, mod.Module.Path, want)
		}
		if mod.Go != work.Go && mod.Go != library.Go {
			t.Errorf("%s: go line is %s, go.work has %s, and go.mod %s", file, mod.Go, work.Go, library.Go)
		}
		if mod.Toolchain != "" {
			t.Errorf("%s: toolchain line %s: it would hide what the go line needs", file, mod.Toolchain)
		}
		if len(mod.Exclude)+len(mod.Retract) > 0 {
			t.Errorf("%s: excludes %v and retracts %v, want neither", file, mod.Exclude, mod.Retract)
		}
		replaced := map[string]string{}
		for _, r := range mod.Replace {
			replaced[r.Old.Path] = r.New.Path
		}
		for _, r := range mod.Require {
			if r.Path != module && !strings.HasPrefix(r.Path, module+"/") {
				continue
			}
			folder := "." + strings.TrimPrefix(r.Path, module)
			want, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(folder))
			if err != nil || replaced[r.Path] != filepath.ToSlash(want) {
				t.Errorf("%s: replaces %s by %q, want %s, so that the module builds outside the workspace",
					file, r.Path, replaced[r.Path], want)
			}
			delete(replaced, r.Path)
		}
		if dir == apiServer {
			continue
		}
		if len(replaced) > 0 {
			t.Errorf("%s: replaces %v, want modules of this repository that it requires", file, replaced)
		}
	}
	slices.Sort(used)
	slices.Sort(folders)
	want := slices.DeleteFunc(folders, func(f string) bool { return strings.HasPrefix(f, "tools/") })
	if !slices.Equal(used, want) {
		t.Errorf("go.work uses %q, want %q", used, want)
	}
}

// TestUpdates: each module gets new versions of what it requires, but for the servers that tests
// build.
func TestUpdates(t *testing.T) {
	t.Parallel()
	text := read(t, ".github/dependabot.yml")
	for _, file := range find(t, func(p string) bool {
		return path.Base(p) == "go.mod" && !strings.Contains(p, "testdata/")
	}) {
		dir := path.Clean("/" + path.Dir(file))
		server := dir == "/tools/etcd" || dir == "/"+apiServer
		if strings.Contains(text, "- \""+dir+"\"\n") == server {
			t.Errorf(".github/dependabot.yml names %s: %v, want %v", dir, server, !server)
		}
	}
}

// TestRequirements holds the library to the four modules that it may require.
func TestRequirements(t *testing.T) {
	t.Parallel()
	var mod goMod
	goJSON(t, &mod, "mod", "edit", "-json", "go.mod")
	var got []string
	for _, r := range mod.Require {
		if !r.Indirect {
			got = append(got, r.Path)
		}
	}
	slices.Sort(got)
	if want := []string{"github.com/go-sql-driver/mysql", "golang.org/x/sys",
		"gorm.io/driver/mysql", "gorm.io/gorm"}; !slices.Equal(got, want) {
		t.Errorf("go.mod requires %q, want %q", got, want)
	}
}

// TestLinked checks that a program which uses the generators without a database links no database
// code.
func TestLinked(t *testing.T) {
	t.Parallel()
	packages := []string{"uid", "assigner", "assigner/kubernetes", "segment", "service"}
	args := []string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}
	for _, p := range packages {
		args = append(args, "./"+p)
	}
	deps := strings.Fields(goOutput(t, args...))
	for _, dep := range deps {
		if dep != "golang.org/x/sys/cpu" && dep != module && !strings.HasPrefix(dep, module+"/") {
			t.Errorf("one of %q links %s, want only the standard library and golang.org/x/sys/cpu", packages, dep)
		}
	}
	for _, want := range []string{module + "/uid", module + "/ringbuffer", module + "/segment",
		module + "/assigner/kubernetes"} {
		if !slices.Contains(deps, want) {
			t.Errorf("%s is not among the dependencies %q: this test looks at the wrong packages", want, deps)
		}
	}
}

// TestLinkedSQL checks that a program which has worker ids, segments and numbers over a *sql.DB links no
// GORM, and no database code but that of MySQL's errors.
func TestLinkedSQL(t *testing.T) {
	t.Parallel()
	args := []string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./uid/typed",
		"./uid/backfill", "./number", "./sql", "./assigner/sqlstore", "./segment/sqltable"}
	deps := strings.Fields(goOutput(t, args...))
	for _, dep := range deps {
		if dep != "golang.org/x/sys/cpu" && !strings.HasPrefix(dep, module+"/") &&
			dep != "github.com/go-sql-driver/mysql" && !strings.HasPrefix(dep, "filippo.io/edwards25519") {
			t.Errorf("one of %q links %s, want neither GORM nor another driver", args[4:], dep)
		}
	}
	if !slices.Contains(deps, module+"/internal/sqldb") {
		t.Errorf("internal/sqldb is not among the dependencies %q: this test looks at the wrong packages", deps)
	}
}
