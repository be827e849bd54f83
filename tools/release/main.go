// Command release prepares the tags of a version: one for each module of go.work, on a commit in
// which the modules require each other at that version. Their replace directives move to go.work,
// which only a clone sees. Then it builds the command for each platform from its tag, with what it
// is made of and the sums of all. It changes no branch and pushes nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	dry := flag.Bool("n", false, "print the changes and the tags, and make neither")
	out := flag.String("o", "bin/release", "where the command goes, built for each platform")
	flag.Parse()
	ctx, version := context.Background(), flag.Arg(0)
	err := release(ctx, ".", version, *dry, os.Stdout)
	if err == nil && !*dry {
		err = build(ctx, ".", version, *out, platforms[:]...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// versions are those that module paths without a suffix such as /v2 can have.
var versions = regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// release prepares the tags of version for the repository at root, and says on out what to push.
func release(ctx context.Context, root, version string, dry bool, out io.Writer) (err error) {
	if !versions.MatchString(version) {
		return fmt.Errorf("version is %q, want v0.1.0 or the like, below v2", version)
	}
	changes, err := run(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the tree has changes that are not committed:\n%s", changes)
	}
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if _, err := run(ctx, root, "git", "worktree", "add", "--detach", tree); err != nil {
		return err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_, removeErr := run(ctx, root, "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, removeErr)
	}()
	tags, err := unlink(ctx, tree, version)
	if err != nil {
		return err
	}
	taken, err := run(ctx, root, "git", append([]string{"tag", "--list"}, tags...)...)
	if err != nil {
		return err
	}
	if taken != "" {
		return fmt.Errorf("%s has tags:\n%s", version, taken)
	}
	diff, err := run(ctx, tree, "git", "diff", "--unified=0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, diff)
	if dry {
		fmt.Fprintln(out, "tags:", strings.Join(tags, " "))
		return nil
	}
	_, err = run(ctx, tree, "git", "commit", "--all", "--message", "Release "+version)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		if _, err := run(ctx, tree, "git", "tag", "--annotate", "--message", tag, tag); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "to publish: git push --atomic origin", strings.Join(tags, " "))
	return nil
}

// unlink has the modules of the workspace at tree require each other at version, moves their
// replace directives to go.work, and returns their tags.
func unlink(ctx context.Context, tree, version string) (tags []string, err error) {
	list, err := run(ctx, tree, "go", "list", "-m")
	if err != nil {
		return nil, err
	}
	modules := strings.Fields(list) // the root module first
	work := []string{"work", "edit"}
	for _, module := range modules {
		dir := strings.TrimPrefix(strings.TrimPrefix(module, modules[0]), "/")
		file := filepath.Join(tree, filepath.FromSlash(dir), "go.mod")
		tags = append(tags, path.Join(dir, version))
		work = append(work, "-replace="+module+"@"+version+"=./"+dir)
		text, err := run(ctx, tree, "go", "mod", "edit", "-json", file)
		if err != nil {
			return nil, err
		}
		var mod struct {
			Require []struct{ Path string }
			Replace []struct{ Old struct{ Path string } }
		}
		if err := json.Unmarshal([]byte(text), &mod); err != nil {
			return nil, err
		}
		edit := []string{"mod", "edit"}
		for _, r := range mod.Require {
			if r.Path == modules[0] || strings.HasPrefix(r.Path, modules[0]+"/") {
				edit = append(edit, "-require="+r.Path+"@"+version)
			}
		}
		for _, r := range mod.Replace {
			edit = append(edit, "-dropreplace="+r.Old.Path)
		}
		if len(edit) == 2 {
			continue
		}
		if _, err := run(ctx, tree, "go", append(edit, file)...); err != nil {
			return nil, err
		}
	}
	_, err = run(ctx, tree, "go", work...)
	return tags, err
}

// run returns what a command writes to its standard output, without white space at the end.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out)), err
}
