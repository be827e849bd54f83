package suite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/uidring/uidring/bench/internal/result"
)

// costs measures what a generator costs apart from its ids: memory, what linking it adds to a
// program, and how long the first id takes.
func costs(ctx context.Context, c *Config, f *result.File) error {
	if err := benchmarks(ctx, c, f, "Memory|Linking", 1); err != nil {
		return err
	}
	return benchmarks(ctx, c, f, "Start", pick(c, 2, 15))
}

// keys measures tables with several kinds of primary keys.
func keys(ctx context.Context, c *Config, f *result.File) error {
	return benchmarks(ctx, c, f, "Keys", 1)
}

// benchmarks runs Go benchmarks of the package bench, so many times each, and adds what they print.
func benchmarks(
	ctx context.Context, c *Config, f *result.File, names string, times int,
) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./bench", "-run=^$",
		"-bench=^Benchmark("+names+")$", "-benchtime=1x", fmt.Sprint("-count=", times),
		"-timeout=1h", "-args", fmt.Sprint("-quick=", c.Quick))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go test: %w: %s", err, out)
	}
	return parse(string(out), f)
}

var (
	// again ends the name of a benchmark that has the name of an earlier one.
	again = regexp.MustCompile(`#\d\d\b`)

	// spaces undoes what the testing package does to the spaces of a name.
	spaces = strings.NewReplacer("__", "_", "_", " ")
)

// parse adds the cells of Go benchmarks' lines, such as
//
//	BenchmarkMemory/memory/uid.Cached,_many_lanes-2  1  5000 ns/op  120 after_a_million_ids-B
//
// which is the cell "after a million ids" of a row of the table "memory". What the benchmark itself
// took is none.
func parse(out string, f *result.File) error {
	end := fmt.Sprintf("-%d", procs())
	if procs() == 1 {
		end = ""
	}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		for i, text := range fields {
			fields[i] = spaces.Replace(text)
		}
		name := strings.TrimSuffix(again.ReplaceAllString(fields[0], ""), end)
		path := strings.SplitN(name, "/", 3)
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil || len(path) < 3 {
				return fmt.Errorf("go test prints %q", line)
			}
			if column, unit, _ := strings.Cut(fields[i+1], "-"); column != "ns/op" {
				f.Add(path[1], path[2], column, unit, v, nil)
			}
		}
	}
	return nil
}
