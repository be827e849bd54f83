package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const module = "github.com/uidring/uidring"

// clone returns a repository with the files of this one, all committed.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, filepath.Clean("../..")))
		switch {
		case d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // the .git of a worktree is a file
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	do(t, dir, nil, "git", "init", "--quiet")
	for key, value := range map[string]string{
		"user.name": "test", "user.email": "test@example.com", "commit.gpgsign": "false",
		"tag.gpgsign": "false", "core.hooksPath": filepath.Join(dir, "none"), "gc.auto": "0",
	} {
		do(t, dir, nil, "git", "config", key, value)
	}
	do(t, dir, nil, "git", "add", "--all")
	do(t, dir, nil, "git", "commit", "--quiet", "--message", "all")
	return dir
}

// do runs a command with more environment variables and returns what it prints.
func do(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// read returns what a file holds.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRelease: a version is installed from a module proxy, outside of a clone: the command runs,
// and every module of the workspace is resolved by a program that has none of them.
func TestRelease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the command anew")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	const version = "v0.1.0"
	repo := clone(t)
	branches := do(t, repo, nil, "git", "branch", "--verbose")
	modules := strings.Fields(do(t, repo, nil, "go", "list", "-m"))

	var out bytes.Buffer
	if err := release(t.Context(), repo, version, true, &out); err != nil {
		t.Fatal(err)
	}
	tags := do(t, repo, nil, "git", "tag")
	if tags != "" || !strings.Contains(out.String(), "cmd/uid/"+version) {
		t.Errorf("a dry run makes the tags %q and prints %s", tags, &out)
	}
	if err := release(t.Context(), repo, version, false, &out); err != nil {
		t.Fatal(err)
	}
	if tags := strings.Fields(do(t, repo, nil, "git", "tag")); len(tags) != len(modules) {
		t.Errorf("the tags are %q, want one for each of %q", tags, modules)
	}
	if now := do(t, repo, nil, "git", "branch", "--verbose"); now != branches {
		t.Errorf("the branches are %s, want them as they were: %s", now, branches)
	}
	if n := strings.Count(do(t, repo, nil, "git", "worktree", "list"), "\n"); n != 0 {
		t.Errorf("%d worktrees are left", n)
	}

	// A clone of the tag builds in its workspace, to the same bytes from any folder.
	do(t, repo, nil, "git", "checkout", "--quiet", version)
	do(t, repo, nil, "go", "list", "-deps", "work")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	var sums [2]string
	for i := range sums {
		dir := t.TempDir()
		if err := build(t.Context(), repo, version, dir, platform); err != nil {
			t.Fatal(err)
		}
		sums[i] = read(t, filepath.Join(dir, "SHA256SUMS"))
		name := filepath.Join(dir, strings.ReplaceAll("uid_"+version+"_"+platform, "/", "_"))
		commit := do(t, repo, nil, "git", "rev-parse", version+"^{commit}")[:12]
		want := "uid " + version + " " + commit
		if got := do(t, dir, nil, name, "version"); !strings.HasPrefix(got, want) {
			t.Errorf("the released command is %q, want %s", got, want)
		}
		parts := read(t, name+".cdx.json")
		for _, want := range []string{
			"pkg:golang/" + module + "@" + version, "pkg:golang/gorm.io/gorm@v", "pkg:golang/std@1.",
		} {
			if !strings.Contains(parts, want) {
				t.Errorf("the bill of materials lacks %s:\n%s", want, parts)
			}
		}
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("the builds have the sums\n%s\nand\n%s", sums[0], sums[1])
	}

	// The go command itself makes the proxy, from the tags. What it needs from elsewhere is in the
	// module cache of this machine, or comes from its proxy.
	proxy := func(cache string) string {
		return "file://" + filepath.ToSlash(filepath.Join(cache, "cache", "download"))
	}
	third := proxy(do(t, ".", nil, "go", "env", "GOMODCACHE")) + "," +
		do(t, ".", nil, "go", "env", "GOPROXY")
	temp := t.TempDir()
	origin := filepath.Join(temp, "origin")
	env := []string{
		"GOWORK=off", "GOSUMDB=off", "GOENV=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0",
		"GOFLAGS=-modcacherw -trimpath", "GOBIN=" + filepath.Join(temp, "bin"),
		"GOMODCACHE=" + origin, "GOPROXY=direct", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url.file://" + filepath.ToSlash(repo) + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://" + module,
	}
	for _, m := range modules {
		do(t, temp, env, "go", "mod", "download", m+"@"+version)
	}
	env = append(env, "GOMODCACHE="+filepath.Join(temp, "cache"),
		"GOPROXY="+proxy(origin)+","+third, "GIT_CONFIG_COUNT=0")

	do(t, temp, env, "go", "install", module+"/cmd/uid@"+version)
	uid := filepath.Join(temp, "bin", "uid")
	if got := do(t, temp, nil, uid, "version"); !strings.HasPrefix(got, "uid "+version+" ") {
		t.Errorf("the installed command is %q, want %s", got, version)
	}
	if got := do(t, temp, nil, uid, "gen", "--worker", "1", "-n", "3"); strings.Count(got, "\n") != 2 {
		t.Errorf("the installed command prints %q, want three ids", got)
	}

	user := filepath.Join(temp, "user")
	if err := os.Mkdir(user, 0o755); err != nil {
		t.Fatal(err)
	}
	do(t, user, env, "go", "mod", "init", "example.com/user")
	get := []string{"get"}
	for _, m := range modules {
		get = append(get, m+"/...@"+version)
	}
	do(t, user, env, "go", get...)
	program := `package main

import (
	_ "` + module + `/assigner/zookeeper"
	"` + module + `/bitsalloc"
)

func main() { println(bitsalloc.Layout{}.String()) }
`
	if err := os.WriteFile(filepath.Join(user, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, user, env, "go", "build", "-o", filepath.Join(temp, "bin"), ".")
	for _, m := range modules {
		missing := do(t, user, env, "go", "list", "-deps", "-e", "-f", "{{with .Error}}{{.}}{{end}}",
			m+"/...")
		if missing != "" {
			t.Errorf("%s: %s", m, missing)
		}
	}
}

// TestRefuses: a version that cannot be, one that exists and a tree with changes make no tag.
func TestRefuses(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	repo := clone(t)
	refused := func(version, want string) {
		t.Helper()
		err := release(t.Context(), repo, version, false, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: %v, want it refused with %q", version, err, want)
		}
	}
	for _, version := range []string{
		"", "0.1.0", "v0.1", "v2.0.0", "v01.0.0", "latest", "v0.1.0 v0.2.0", "v0.1.0-",
	} {
		refused(version, "want v0.1.0")
	}
	do(t, repo, nil, "git", "tag", "cmd/uid/v0.3.0")
	refused("v0.3.0", "has tags")
	if err := os.WriteFile(filepath.Join(repo, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("v0.4.0", "?? new")
	if tags := do(t, repo, nil, "git", "tag"); tags != "cmd/uid/v0.3.0" {
		t.Errorf("the tags are %q, want none more", tags)
	}
}
