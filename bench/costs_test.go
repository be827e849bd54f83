package bench_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// The benchmarks of this package measure what takes no turns with anything: what a generator costs
// apart from its ids, and tables. The suites "costs" and "keys" of cmd/bench run them with
// -benchtime=1x. A benchmark is a row of the table that stands before its name, and each of its
// metrics a cell, "column-unit", with _ for a space and __ for _.

var quick = flag.Bool("quick", false, "few and short measurements")

// root is the repository's root.
const root = ".."

func check(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMemory reads the live heap that a generator holds, idle and after a million ids, and
// that of a tag among ten thousand: idle, each has made an id, then a hundred, a million together.
func BenchmarkMemory(b *testing.B) {
	const idle, busy, tags = "idle-B", "after_a_million_ids-B", 10_000
	for _, x := range contender.Pick(contender.OneLane, contender.ManyLanes, contender.DefaultWide,
		contender.Bwmarrin, contender.Sony, contender.UUID7) {
		b.Run("memory/"+x.Name, func(b *testing.B) {
			held := memory(b, x.New, 1_000_000)
			b.ReportMetric(held[0], idle)
			b.ReportMetric(held[1], busy)
		})
	}
	b.Run("memory/segment, a tag of 10,000", func(b *testing.B) {
		ctx, src := b.Context(), &segmenttest.Counters{}
		for i := range tags {
			check(b, src.Set(ctx, segment.Row{Tag: fmt.Sprint("tag-", i), Step: 1000}))
		}
		before := live()
		g, err := segment.New(ctx, src, nil)
		check(b, err)
		for i, column := range []string{idle, busy} {
			for id := range tags * (1 + 98*i) {
				_, err := g.Next(ctx, fmt.Sprint("tag-", id%tags))
				check(b, err)
			}
			b.ReportMetric((live()-before)/tags, column)
		}
		check(b, g.Close())
	})
}

// memory returns the live heap of a generator, idle and after so many ids: the mean of several, as
// the runtime moves a few hundred bytes meanwhile. What is below nothing is that.
func memory(b testing.TB, start contender.Start, ids int) (held [2]float64) {
	var loops [16]contender.Loop
	var stops [len(loops)]func() error
	before := live()
	for i := range loops {
		var err error
		loops[i], stops[i], err = start()
		check(b, err)
	}
	held[0] = max(0, live()-before) / float64(len(loops))
	for _, run := range loops {
		check(b, run(ids))
	}
	held[1] = max(0, live()-before) / float64(len(loops))
	runtime.KeepAlive(&loops)
	for _, stop := range stops {
		if stop != nil {
			check(b, stop())
		}
	}
	return held
}

// What generators hold is theirs, and that of none is nothing.
func TestMemory(t *testing.T) {
	kept := func() (contender.Loop, func() error, error) {
		buf, more := make([]byte, 1<<20), []byte(nil)
		return func(n int) error {
			more = make([]byte, n)
			_, _ = buf, more
			return nil
		}, func() error { buf, more = nil, nil; return nil }, nil
	}
	near := func(got, want float64) bool { return got >= want && got < want+4096 }
	if got := memory(t, kept, 1<<19); !near(got[0], 1<<20) || !near(got[1], 3<<19) {
		t.Errorf("a mebibyte, and half of one more: %v", got)
	}
	none := contender.Plain(func(int) error { return nil })
	if got := memory(t, none, 1); !near(got[0], 0) || !near(got[1], 0) {
		t.Errorf("nothing: %v", got)
	}
}

// live returns the bytes of live heap.
func live() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools kept
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkLinking builds programs that do nothing but make an id, each a module of its own, with
// the versions that the bench has.
func BenchmarkLinking(b *testing.B) {
	const own = "github.com/uidring/uidring"
	for _, p := range []struct{ name, module, imports, body string }{
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
		b.Run("linking/"+p.name, func(b *testing.B) {
			dir, mod := b.TempDir(), "module p\ngo 1.26.0\n"
			switch p.module {
			case "":
			case own:
				at, err := filepath.Abs(root)
				check(b, err)
				mod += "require " + own + " v0.0.0\nreplace " + own + " => " + at + "\n"
			default:
				mod += "require " + command(b, ".", "go", "list", "-m", p.module)
			}
			check(b, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
			check(b, os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\nimport ("+
				p.imports+")\nfunc main() {\n"+p.body+"\n}\n"), 0o600))
			linked(b, dir)
		})
	}
}

// linked reports a program's row. What go get downloads are the archives of the modules of which
// packages are linked, next to their go.mod in the module cache; that of this library is of the
// files that git knows, compressed.
func linked(b *testing.B, dir string) {
	program := filepath.Join(dir, "p")
	command(b, dir, "go", "build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	packages := strings.Fields(command(b, dir, "go", "list", "-mod=mod", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.GoMod}}{{end}}{{end}}", "."))
	modules := slices.Compact(slices.Sorted(slices.Values(packages)))
	download := 0.0
	for _, mod := range modules {
		archive := strings.TrimSuffix(mod, ".mod") + ".zip"
		if filepath.Base(mod) == "go.mod" { // this library's, which is replaced by its folder
			archive = filepath.Join(dir, "own.zip")
			args := []string{"archive", "--format=zip", "-o", archive, "HEAD", "."}
			for below := range strings.Lines(command(b, root, "git", "ls-files", "*/go.mod")) {
				args = append(args, ":!"+filepath.Dir(below))
			}
			command(b, root, "git", args...)
		}
		download += size(b, archive)
	}
	sum, _ := os.ReadFile(filepath.Join(dir, "go.sum")) // none without modules
	b.ReportMetric(size(b, program), "binary-B")
	b.ReportMetric(float64(len(packages)), "packages")
	b.ReportMetric(float64(len(modules)), "modules")
	b.ReportMetric(float64(strings.Count(string(sum), "\n")), "go.sum_lines")
	b.ReportMetric(download, "go_get-B")
}

func size(b *testing.B, path string) float64 {
	info, err := os.Stat(path)
	check(b, err)
	return float64(info.Size())
}

// command runs a program in dir to its end and returns what it prints.
func command(b *testing.B, dir, program string, args ...string) string {
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Dir = dir
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s %s: %v: %s", program, args[0], err, problem.String())
	}
	return string(out)
}
