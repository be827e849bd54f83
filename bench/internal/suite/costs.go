package suite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
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
	for _, x := range contender.Pick(contender.OneLane, contender.ManyLanes, contender.DefaultWide,
		contender.Bwmarrin, contender.Sony) {
		before := live()
		run, stop, err := x.New()
		f.Add("memory", x.Name, "idle", "B", float64(live()-before), err)
		if err == nil {
			err = run(1_000_000)
			f.Add("memory", x.Name, "after a million ids", "B", float64(live()-before), err)
			stop()
		}
	}
	const tags = 10_000
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
	for i, column := range []string{"idle", "after a million ids"} {
		for id := range tags * (1 + 98*i) {
			if _, err := g.Next(ctx, fmt.Sprint("tag-", id%tags)); err != nil {
				return err
			}
		}
		f.Add("memory", "segment, a tag of 10,000", column, "B", float64(live()-before)/tags, nil)
	}
	return nil
}

// live returns the bytes of live heap.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools kept
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// program is one that does nothing but make an id.
type program struct{ name, module, imports, body string }

// linking builds such programs, each a module of its own.
func linking(ctx context.Context, c *Config, f *result.File, dir string) error {
	const own = "github.com/uidring/uidring"
	versions := result.NewMeta(ctx, "", "", false).Modules
	for i, p := range []program{
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
		if p.module != "" {
			version := versions[p.module]
			if p.module == own {
				version = "v0.0.0"
				mod += "replace " + own + " => " + c.Root + "\n"
			}
			mod += "require " + p.module + " " + version + "\n"
		}
		err := errors.Join(os.MkdirAll(at, 0o755),
			os.WriteFile(filepath.Join(at, "go.mod"), []byte(mod), 0o644),
			os.WriteFile(filepath.Join(at, "main.go"), []byte("package main\nimport ("+p.imports+
				")\nfunc main() {\n"+p.body+"\n}\n"), 0o644))
		if err == nil {
			err = linked(ctx, c, f, p.name, at)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// linked adds a program's row. What go get downloads are the archives of the modules of which
// packages are linked; that of this library is of the files that git knows, compressed.
func linked(ctx context.Context, c *Config, f *result.File, name, dir string) error {
	list := "{{if not .Standard}}{{.ImportPath}} " +
		"{{with .Module}}{{.Path}} {{.Version}}{{end}}{{end}}"
	_, err := goTool(ctx, dir, "build", "-trimpath", "-ldflags=-s -w", "-o", "p", ".")
	if err != nil {
		return err
	}
	packages, err := goTool(ctx, dir, "list", "-deps", "-f", list, ".")
	if err != nil {
		return err
	}
	cache, err := goTool(ctx, dir, "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	var modules []string
	linked, got := -1.0, 0.0 // without the program itself
	for line := range strings.Lines(packages) {
		if fields := strings.Fields(line); len(fields) > 0 {
			linked++
			if len(fields) == 3 && !slices.Contains(modules, fields[1]) {
				modules = append(modules, fields[1])
				zip := filepath.Join(strings.TrimSpace(cache), "cache", "download",
					escaped(fields[1]), "@v", fields[2]+".zip")
				if fields[2] == "v0.0.0" {
					zip = filepath.Join(dir, "own.zip")
					if err := archive(ctx, c.Root, zip); err != nil {
						return err
					}
				}
				info, err := os.Stat(zip)
				if err != nil {
					return err
				}
				got += float64(info.Size())
			}
		}
	}
	info, err := os.Stat(filepath.Join(dir, "p"))
	if err != nil {
		return err
	}
	sum, _ := os.ReadFile(filepath.Join(dir, "go.sum")) // none without modules
	f.Add("linking", name, "binary", "B", float64(info.Size()), nil)
	f.Add("linking", name, "packages", "", linked, nil)
	f.Add("linking", name, "modules", "", float64(len(modules)), nil)
	f.Add("linking", name, "go.sum lines", "", float64(strings.Count(string(sum), "\n")), nil)
	f.Add("linking", name, "go get", "B", got, nil)
	return nil
}

// escaped returns a module path as the cache has it: a capital letter is a small one after a "!".
func escaped(path string) string {
	for c := 'A'; c <= 'Z'; c++ {
		path = strings.ReplaceAll(path, string(c), "!"+strings.ToLower(string(c)))
	}
	return path
}

// archive writes the root module's archive: the files that git knows, without those of the modules
// below.
func archive(ctx context.Context, root, to string) error {
	args := []string{"-C", root, "archive", "--format=zip", "-o", to, "HEAD", "."}
	below, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "*/go.mod").Output()
	if err != nil {
		return err
	}
	for file := range strings.Lines(string(below)) {
		args = append(args, ":!"+filepath.Dir(file))
	}
	return exec.CommandContext(ctx, "git", args...).Run()
}

// goTool runs the go command in dir, as in a module of its own.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("go %s: %w: %s", args[0], err, problem.String())
	}
	return string(out), err
}

// starts measures how long the first id takes. In a process that runs already, where the authority
// is part of it or the HTTP service; for the others, from the start of the command uid to its first
// line, which "command uid, a worker id of its own" is to be subtracted from.
func starts(ctx context.Context, c *Config, f *result.File, dir string) error {
	command := filepath.Join(dir, "uid")
	build := exec.CommandContext(ctx, "go", "build", "-o", command, "./cmd/uid")
	build.Dir = c.Root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	n := pick(c, 2, 15)
	handler, err := service.NewHandler(&service.HandlerOptions{Workers: &claimtest.Memory{}})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	address, err := listen(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	err = rounds(ctx, n, func(int) error {
		start := time.Now()
		g, err := uid.NewCached(ctx, claimtest.Static(1), nil)
		if err != nil {
			return err
		}
		_, err = g.Next(ctx)
		f.Add("start", "a worker id of its own", "first id", "ns", nanoseconds(start), err)
		_ = g.Close()
		start = time.Now()
		client, err := service.NewClient([]string{"http://" + address}, nil)
		if err != nil {
			return err
		}
		if g, err = uid.NewCached(ctx, client, nil); err != nil {
			return err
		}
		_, err = g.Next(ctx)
		f.Add("start", "HTTP service", "first id", "ns", nanoseconds(start), err)
		return errors.Join(g.Close(), client.Close())
	})
	if err != nil {
		return err
	}
	for _, a := range authorities(dir) {
		args, stop, err := a.start()
		if err != nil {
			f.Add("start", "command uid, "+a.name, "first id", "ns", 0, err)
			continue
		}
		err = rounds(ctx, n, func(int) error {
			took, err := firstLine(ctx, command, append([]string{"gen"}, args...))
			f.Add("start", "command uid, "+a.name, "first id", "ns", took, err)
			return nil
		})
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// nanoseconds returns those since start.
func nanoseconds(start time.Time) float64 { return float64(time.Since(start).Nanoseconds()) }

// firstLine returns the nanoseconds from a program's start to its first line.
func firstLine(ctx context.Context, program string, args []string) (float64, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	var problem strings.Builder
	cmd.Stderr = &problem
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	took := nanoseconds(start)
	if wait := cmd.Wait(); err != nil || wait != nil {
		return 0, fmt.Errorf("%w: %s", errors.Join(err, wait), strings.TrimSpace(problem.String()))
	}
	return took, nil
}

// authority hands out worker ids to the command uid. Its start returns the command's arguments.
type authority struct {
	name  string
	start func() (args []string, stop func(), err error)
}

func authorities(dir string) []authority {
	dsn := func(start func() (*dbtest.Server, error), of func(*dbtest.Server) string,
		prepare ...string) func() ([]string, func(), error) {
		return func() ([]string, func(), error) {
			s, err := start()
			if err != nil {
				return nil, nil, err
			}
			for _, statement := range prepare {
				if _, err := s.TryQuery("", statement); err != nil {
					s.Close()
					return nil, nil, err
				}
			}
			return []string{"--dsn", of(s)}, s.Close, nil
		}
	}
	database := func(s *dbtest.Server) string { return s.DSN("bench") }
	return []authority{
		{"a worker id of its own", func() ([]string, func(), error) {
			return []string{"--worker", "1"}, func() {}, nil
		}},
		{"SQLite", func() ([]string, func(), error) {
			return []string{"--dsn", "sqlite://" + filepath.Join(dir, "uid.db")}, func() {}, nil
		}},
		{"MariaDB", dsn(func() (*dbtest.Server, error) { return dbtest.NewMariaDB() }, database,
			"CREATE DATABASE bench")},
		{"PostgreSQL", dsn(func() (*dbtest.Server, error) { return dbtest.NewPostgres() }, database,
			"CREATE DATABASE bench")},
		{"etcd", dsn(func() (*dbtest.Server, error) { return dbtest.NewEtcd() }, database)},
		{"ZooKeeper", dsn(func() (*dbtest.Server, error) { return dbtest.NewZooKeeper() },
			database)},
		{"Kubernetes", func() ([]string, func(), error) {
			s, err := dbtest.NewKubernetes()
			if err != nil {
				return nil, nil, err
			}
			path, err := s.WriteKubeconfig(s.Addr())
			return []string{"--dsn", "kubernetes:?kubeconfig=" + path}, s.Close, err
		}},
	}
}

// listen serves on a free port of this machine.
func listen(ctx context.Context, server *http.Server) (address string, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = server.Serve(l) }()
	return l.Addr().String(), nil
}
