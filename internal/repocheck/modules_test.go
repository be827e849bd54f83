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

// TestModules holds the modules together: one go line, no toolchain line, a local replace so that each builds by itself, and all of
// them but tools in the workspace.
func TestModules(t *testing.T) {
	t.Parallel()
	var work goWork
	goJSON(t, &work, "work", "edit", "-json")
	var used []string
	for _, u := range work.Use {
		used = append(used, path.Clean(filepath.ToSlash(u.DiskPath)))
	}
	var folders []string
	for _, file := range find(t, func(p string) bool { return path.Base(p) == "go.mod" && !strings.Contains(p, "testdata/") }) {
		dir := path.Dir(file)
		folders = append(folders, dir)
		var mod goMod
		goJSON(t, &mod, "mod", "edit", "-json", filepath.FromSlash(file))
		if want := path.Join(module, dir); mod.Module.Path != want {
			t.Errorf("%s: module is %s, want %s", file, mod.Module.Path, want)
		}
		if mod.Go != work.Go {
			t.Errorf("%s: go line is %s, go.work has %s", file, mod.Go, work.Go)
		}
		if mod.Toolchain != "" {
			t.Errorf("%s: toolchain line %s: it would hide what the go line needs", file, mod.Toolchain)
		}
		for _, r := range mod.Replace {
			if want, err := filepath.Rel(filepath.FromSlash(dir), "."); err != nil || r.Old.Path != module || r.New.Path != filepath.ToSlash(want) {
				t.Errorf("%s: replaces %s by %s, want %s by %s and nothing else", file, r.Old.Path, r.New.Path, module, want)
			}
		}
		if dir != "." && dir != "tools" && len(mod.Replace) != 1 {
			t.Errorf("%s: %d replaces, want one, of %s, so that the module builds outside the workspace", file, len(mod.Replace), module)
		}
	}
	slices.Sort(used)
	slices.Sort(folders)
	if want := without(folders, "tools"); !slices.Equal(used, want) {
		t.Errorf("go.work uses %q, want %q", used, want)
	}
}

// TestRequirements holds the library to the three modules that it may require.
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
	if want := []string{"golang.org/x/sys", "gorm.io/driver/mysql", "gorm.io/gorm"}; !slices.Equal(got, want) {
		t.Errorf("go.mod requires %q, want %q", got, want)
	}
}

// TestLinked checks that a program which uses the generators without a database links no database code.
func TestLinked(t *testing.T) {
	t.Parallel()
	deps := strings.Fields(goOutput(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./uid", "./assigner"))
	for _, dep := range deps {
		if dep != "golang.org/x/sys/cpu" && dep != module && !strings.HasPrefix(dep, module+"/") {
			t.Errorf("uid and assigner link %s, want only the standard library and golang.org/x/sys/cpu", dep)
		}
	}
	for _, want := range []string{module + "/uid", module + "/ringbuffer"} {
		if !slices.Contains(deps, want) {
			t.Errorf("%s is not among the dependencies %q: this test looks at the wrong packages", want, deps)
		}
	}
}
