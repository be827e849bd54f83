package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid/uidtest"
)

// costs measures what a generator costs before and beside its ids: what linking it adds to a
// program, how long the first id takes, and memory.
func costs(ctx context.Context, c *Config, f *result.File) error {
	dir, err := os.MkdirTemp("", "uidring-costs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return errors.Join(memory(ctx, f), linking(ctx, c, f, dir), starts(ctx, c, f, dir))
}

// memory reads the live heap that a generator holds, idle and after a million ids, and that of a
// tag among ten thousand.
func memory(ctx context.Context, f *result.File) error {
	const idle, busy, tags = "idle", "after a million ids", 10_000
	for _, x := range contender.Pick(contender.OneLane, contender.ManyLanes, contender.DefaultWide,
		contender.Bwmarrin, contender.Sony) {
		before := live()
		_, err := fresh(x.New, func(run contender.Loop) (any, error) {
			f.Add("memory", x.Name, idle, "B", live()-before, nil)
			err := run(1_000_000)
			f.Add("memory", x.Name, busy, "B", live()-before, err)
			return nil, err
		})
		if err != nil {
			return err
		}
	}
	src := &uidtest.Counters{}
	for i := range tags {
		row := segment.Row{Tag: fmt.Sprint("tag-", i), Step: 1000}
		if err := src.Set(ctx, row); err != nil {
			return err
		}
	}
	before := live()
	g, err := segment.New(ctx, src, nil)
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	for i, column := range []string{idle, busy} {
		for id := range tags * (1 + 98*i) {
			if _, err := g.Next(ctx, fmt.Sprint("tag-", id%tags)); err != nil {
				return err
			}
		}
		f.Add("memory", "segment, a tag of 10,000", column, "B", (live()-before)/tags, nil)
	}
	return nil
}

// live returns the bytes of live heap.
func live() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools kept
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// linking builds programs that do nothing but make an id, each a module of its own.
func linking(ctx context.Context, c *Config, f *result.File, dir string) error {
	const own = "github.com/uidring/uidring"
	for i, p := range []struct{ name, module, imports, body string }{
		{"nothing", "", "", ""},
		{"uid.NewCached, a worker id of its own", own, `"context"; "` + own + `/assigner"; "` + own +
			`/uid"`, `g, _ := uid.NewCached(context.Background(), assigner.Static(1), nil)
			println(g.Next(context.Background()))`},
		{"uidring.Open, MySQL", own, `"context"; "` + own + `"`, `g, _ := uidring.Open(
			context.Background(), "", nil); println(g.Next(context.Background()))`},
		{contender.Bwmarrin, "github.com/bwmarrin/snowflake", `"github.com/bwmarrin/snowflake"`,
			`n, _ := snowflake.NewNode(1); println(n.Generate())`},
		{"sony/sonyflake", "github.com/sony/sonyflake/v2", `"github.com/sony/sonyflake/v2"`,
			`s, _ := sonyflake.New(sonyflake.Settings{}); println(s.NextID())`},
		{"google/uuid", "github.com/google/uuid", `"github.com/google/uuid"`,
			`println(uuid.NewString())`},
	} {
		at := filepath.Join(dir, fmt.Sprint("p", i))
		mod := "module p\ngo 1.26.0\n"
		switch p.module {
		case "":
		case own:
			mod += "require " + own + " v0.0.0\nreplace " + own + " => " + c.Root + "\n"
		default:
			mod += "require " + p.module + " " + f.Meta.Modules[p.module] + "\n"
		}
		err := errors.Join(os.MkdirAll(at, 0o755),
			os.WriteFile(filepath.Join(at, "go.mod"), []byte(mod), 0o644),
			os.WriteFile(filepath.Join(at, "main.go"), []byte("package main\nimport ("+p.imports+
				")\nfunc main() {\n"+p.body+"\n}\n"), 0o644), linked(ctx, c, f, p.name, at))
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// linked adds a program's row. What go get downloads are the archives of the modules of which
// packages are linked, next to their go.mod in the module cache; that of this library is of the
// files that git knows, compressed.
func linked(ctx context.Context, c *Config, f *result.File, name, dir string) error {
	_, err := command(ctx, dir, "go", "build", "-mod=mod", "-trimpath", "-ldflags=-s -w",
		"-o", "p", ".")
	if err != nil {
		return err
	}
	list, err := command(ctx, dir, "go", "list", "-mod=mod", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.GoMod}}{{end}}{{end}}", ".")
	if err != nil {
		return err
	}
	packages := strings.Fields(list)
	modules := slices.Compact(slices.Sorted(slices.Values(packages)))
	sum, _ := os.ReadFile(filepath.Join(dir, "go.sum")) // none without modules
	sizes := map[string]float64{"binary": 0, "go get": 0}
	for _, mod := range append(modules, filepath.Join(dir, "p")) {
		column, path := "go get", strings.TrimSuffix(mod, ".mod")+".zip"
		switch mod {
		case filepath.Join(dir, "p"):
			column, path = "binary", mod
		case filepath.Join(c.Root, "go.mod"):
			path = filepath.Join(dir, "own.zip")
			if err := archive(ctx, c.Root, path); err != nil {
				return err
			}
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		sizes[column] += float64(info.Size())
	}
	f.Add("linking", name, "binary", "B", sizes["binary"], nil)
	f.Add("linking", name, "packages", "", float64(len(packages)), nil)
	f.Add("linking", name, "modules", "", float64(len(modules)), nil)
	f.Add("linking", name, "go.sum lines", "", float64(strings.Count(string(sum), "\n")), nil)
	f.Add("linking", name, "go get", "B", sizes["go get"], nil)
	return nil
}

// archive writes the root module's archive: the files that git knows, without those of the modules
// below.
func archive(ctx context.Context, root, to string) error {
	below, err := command(ctx, root, "git", "ls-files", "*/go.mod")
	if err != nil {
		return err
	}
	args := []string{"archive", "--format=zip", "-o", to, "HEAD", "."}
	for file := range strings.Lines(below) {
		args = append(args, ":!"+filepath.Dir(file))
	}
	_, err = command(ctx, root, "git", args...)
	return err
}

// command runs a program in dir to its end and returns what it prints.
func command(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", program, args[0], err, problem.String())
	}
	return string(out), err
}
