package repocheck

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/human"
)

// figure is what pages copy from a raw result: what the groups of their patterns match are its values.
type figure struct {
	raw    string
	values func(t *testing.T, raw string) []string
	pages  map[string]string // patterns by page; a space is any space
}

var figures = []figure{
	{
		raw: "bench/results/number.txt",
		values: func(t *testing.T, raw string) (values []string) {
			t.Helper()
			for _, name := range []string{"number", "floor_by_hand", "hidden", "floor_opaque"} {
				values = append(values, round(median(all(t, raw, `Next/`+name+`-\d+\s+\d+\s+([\d.]+) ns`))/1e3, 2))
			}
			return values
		},
		pages: map[string]string{
			"docs/segment.md": `A number takes ([0-9.]+) µs \(([0-9.]+) by hand\), a hidden one ([0-9.]+)` +
				" \\(a code of `opaque` ([0-9.]+);",
			"docs/segment.zh-CN.md": "一个号 ([0-9.]+) µs（手写 ([0-9.]+)），隐藏的 ([0-9.]+)（`opaque` 的一个码 ([0-9.]+)；",
		},
	},
	{
		raw: "bench/results/opaque.txt",
		values: func(t *testing.T, raw string) []string {
			t.Helper()
			return []string{round(median(all(t, raw, `BenchmarkHide\S*\s+\d+\s+([\d.]+) ns`))/1e3, 2)}
		},
		pages: map[string]string{
			"docs/segment.md":       "`ord_dq50y5tr9jghp`. A code takes ([0-9.]+) µs",
			"docs/segment.zh-CN.md": "`ord_dq50y5tr9jghp`。一个码 ([0-9.]+) µs",
		},
	},
	{
		raw: "test/e2e/results/gapless.txt",
		values: func(t *testing.T, raw string) (values []string) {
			t.Helper()
			for _, name := range []string{
				"MariaDB/one_key/number", "MariaDB/one_key/bare_UPDATE", "MySQL 9.7/one_key/number",
				"MySQL 9.7/one_key/bare_UPDATE", "PostgreSQL/one_key/number", "PostgreSQL/one_key/bare_UPDATE",
			} {
				values = append(values, round(slices.Min(all(t, raw, name+`-\d+\s+\d+\s+([\d.]+) ns`))/1e6, 2))
			}
			return values
		},
		pages: map[string]string{
			"docs/segment.md": `([0-9.]+) ms each on MariaDB \(([0-9.]+) ms bare\),` +
				` ([0-9.]+) on MySQL 9.7 \(([0-9.]+)\) and ([0-9.]+) on PostgreSQL \(([0-9.]+);`,
			"docs/segment.zh-CN.md": `MariaDB 每个 ([0-9.]+) 毫秒（直接更新 ([0-9.]+)），MySQL 9.7 ([0-9.]+)（([0-9.]+)），` +
				`PostgreSQL ([0-9.]+)（([0-9.]+)；`,
		},
	},
	{
		raw: "test/e2e/results/year.txt",
		values: func(t *testing.T, raw string) []string {
			t.Helper()
			m := regexp.MustCompile(`(\d+) counters of \d+ shops, of which 365 days were made in (\S+); the process holds ` +
				`(\d+) KiB for the last two, and (\d+) KiB after .*; all but the last day deleted in (\S+);`).
				FindStringSubmatch(raw)
			if m == nil {
				t.Fatal("the raw result has no year")
			}
			made, err := time.ParseDuration(m[2])
			if err != nil {
				t.Fatal(err)
			}
			deleted, err := time.ParseDuration(m[5])
			if err != nil {
				t.Fatal(err)
			}
			mb := func(text string) string { return round(number(t, text)*1024/1e6, 0) }
			rows := number(t, m[1])
			return []string{
				human.Count(int64(rows)), mb(m[4]), mb(m[3]), round(deleted.Seconds(), 0),
				round(float64(made.Milliseconds())/rows, 0),
			}
		},
		pages: map[string]string{
			"docs/segment.md": `a year of 1,000 shops is ([0-9,]+) rows, which every process lists, with (\d+) MB of memory;` +
				` two days take (\d+) MB.[^-]* deleted that year in (\d+) s on a busy machine, which took (\d+) ms for each`,
			"docs/segment.zh-CN.md": `1,000 家店铺一年是 ([0-9,]+) 行，每个进程都要读，占 (\d+) MB 内存；两天的只占 (\d+) MB。[^-]*` +
				`在忙碌的机器上 (\d+) 秒删完那一年，建每个计数器用 (\d+) 毫秒`,
		},
	},
	{
		raw: "test/e2e/results/move.txt",
		values: func(t *testing.T, raw string) []string {
			t.Helper()
			m := regexp.MustCompile(`(\d+) rows moved to etcd in (\S+):`).FindStringSubmatch(raw)
			if m == nil {
				t.Fatal("the raw result has no rows")
			}
			took, err := time.ParseDuration(m[2])
			if err != nil {
				t.Fatal(err)
			}
			return []string{human.Count(int64(number(t, m[1]))), round(took.Seconds(), 0)}
		},
		pages: map[string]string{
			"docs/workers.md":       `its rows: ([0-9,]+) of MariaDB were moved in (\d+) s`,
			"docs/workers.zh-CN.md": `MariaDB 的 ([0-9,]+) 行 (\d+) s 迁移完`,
		},
	},
}

// TestFigures: the pages have the figures of their raw results. -update writes them.
func TestFigures(t *testing.T) {
	for _, f := range figures {
		want := f.values(t, read(t, f.raw))
		for page, pattern := range f.pages {
			text := read(t, page)
			at := regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+`)).FindStringSubmatchIndex(text)
			if at == nil || len(at) != 2+2*len(want) {
				t.Errorf("%s has no text as %q", page, pattern)
				continue
			}
			for i, want := range slices.Backward(want) { // so that the places stay
				from, to := at[2+2*i], at[3+2*i]
				if got := text[from:to]; got != want && !*update {
					t.Errorf("%s says %s, %s says %s: %q; want what \"go test ./tools/repocheck -count=1 "+
						"-run=TestFigures -update\" writes", page, got, f.raw, want, text[at[0]:at[1]])
				}
				text = text[:from] + want + text[to:]
			}
			if *update {
				if err := os.WriteFile(filepath.Join(root, page), []byte(text), 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// all returns the numbers that the group of a pattern matches in a raw result.
func all(t *testing.T, raw, pattern string) (numbers []float64) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(raw, -1) {
		numbers = append(numbers, number(t, m[1]))
	}
	if len(numbers) == 0 {
		t.Fatalf("the raw result has no %q", pattern)
	}
	return numbers
}

// number reads a number.
func number(t *testing.T, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// median returns the median of numbers.
func median(numbers []float64) float64 {
	slices.Sort(numbers)
	n := len(numbers)
	return (numbers[(n-1)/2] + numbers[n/2]) / 2
}

// round writes x with some decimals.
func round(x float64, decimals int) string {
	p := math.Pow10(decimals)
	return strconv.FormatFloat(math.Round(x*p)/p, 'f', decimals, 64)
}
