package repocheck

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/human"
)

// serviceTables are the parts of docs/service.md that are made from raw results, for an English page or a
// Chinese one.
var serviceTables = map[string]func(t *testing.T, words map[string]string) string{
	"available": availableFigures, "serve": serveFigures, "open": openFigures,
}

// tablesChinese are the Chinese words of the figures. The English ones are the keys.
var tablesChinese = map[string]string{
	"database": "数据库", "callers": "调用方", "calls": "调用", "failed": "失败", "available": "可用",
	"longest call": "最长的调用", "Go programs, ids of a tag": "Go 程序，一个标签的 id",
	"Go programs, time-ordered ids":            "Go 程序，带时间的 id",
	"a request for each id, both servers, 1 s": "每个 id 一个请求，两台都试，1 s",
	"all of these": "以上合计",
	"a request for each id, one server, once":         "每个 id 一个请求，只问一台一次",
	"MariaDB, killed %s times; the servers %s and %s": "MariaDB，被杀 %s 次；服务器 %s 和 %s 次",
	"MySQL group, primary killed %s times, another member %s; the servers %s and %s": "MySQL 组，主节点被杀 " +
		"%s 次，其他成员 %s 次；服务器 %s 和 %s 次",
	"requests/s": "每秒请求数", "of a constant handler": "与固定应答之比", "processor time": "处理器时间",
	"a handler that answers with a constant":                                  "返回固定内容的处理器",
	"the same with the limits, headers and garbage collection of `uid serve`": "同上，加上 `uid serve` 的限制、头部和垃圾回收",
	"a constant, with the limits and headers of `uid serve`":                  "固定应答，加上 `uid serve` 的限制和头部",
	"not held": "跟不上",
	openText: "单位毫秒，%s 个连接，%s 轮的中位数，%s 个处理器，之前的平均负载为 %s（[原始数据](../bench/results/open.txt)）。\n" +
		"只有固定应答时每秒 %s 个，是文章里 50,000 的 %s 倍。",
}

const openText = "Milliseconds, %s connections, medians of %s rounds, %s processors, load average before %s\n" +
	"([raw](../bench/results/open.txt)). A constant handler alone held %s a second, %s of the\narticles' 50,000."

var tablesPattern = regexp.MustCompile(`(?s)(<!-- figures: ([a-z]+) -->\n\n)(.*?)(\n<!-- end of figures -->)`)

// TestServiceTables checks that the tables of docs/service.md, in both languages, are those that the
// raw results make, or with -update puts them there.
func TestServiceTables(t *testing.T) {
	for file, words := range map[string]map[string]string{
		"docs/service.md": {}, "docs/service.zh-CN.md": tablesChinese,
	} {
		text := read(t, file)
		seen := map[string]bool{}
		want := tablesPattern.ReplaceAllStringFunc(text, func(block string) string {
			m := tablesPattern.FindStringSubmatch(block)
			seen[m[2]] = true
			if serviceTables[m[2]] == nil {
				t.Fatalf("%s: nothing makes the figures %q", file, m[2])
			}
			return m[1] + strings.ReplaceAll(serviceTables[m[2]](t, words), "|  |", "| |") + m[4]
		})
		if len(seen) != len(serviceTables) {
			t.Errorf("%s has the figures %v, want %d", file, seen, len(serviceTables))
		}
		switch {
		case want == text:
		case *update:
			if err := os.WriteFile(filepath.Join(root, file), []byte(want), 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s differs from bench/results; want what \"go test ./tools/repocheck -count=1 "+
				"-run=TestServiceTables -update\" writes", file)
		}
	}
	sequence := matches(t, "bench/results/sequence.txt", `(?m)^ +(\d+)/s .*p99 +(\d+) µs  (?:p99.* µs  )?(?:one block|uid serve)`, 2)
	for _, file := range []string{"docs/service.md", "docs/service.zh-CN.md"} {
		for _, want := range []string{human.Count(integer(t, sequence[1][1])) + " ", sequence[0][1],
			fmt.Sprint(integer(t, sequence[1][2])/1000, " ms")} {
			if !strings.Contains(read(t, file), want) {
				t.Errorf("%s lacks %q of t_sequence", file, want)
			}
		}
	}
}

// in returns a text in the language of words.
func in(words map[string]string, text string) string {
	if other := words[text]; other != "" {
		return other
	}
	return text
}

// matches returns what a pattern finds in a raw result, which must be n times, or once or more for 0.
func matches(t *testing.T, file, pattern string, n int) [][]string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, file), -1)
	if len(found) == 0 || n != 0 && len(found) != n {
		t.Fatalf("%s has %d of %q, want %d", file, len(found), pattern, n)
	}
	return found
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// availableFigures is the table of calls while servers and databases were killed.
func availableFigures(t *testing.T, words map[string]string) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %s |\n| --- | --- | ---: | ---: | ---: | ---: |\n",
		in(words, "database"),
		in(words, "callers"), in(words, "calls"), in(words, "failed"), in(words, "available"),
		in(words, "longest call"))
	for _, one := range []struct{ file, kills, label string }{
		{"bench/results/available-group.txt", `server one (\d+) times, server two (\d+) times, the group's ` +
			`primary (\d+) times and another member (\d+) times`, "MySQL group, primary killed %s times, another member %s; the servers %s and %s"},
		{"bench/results/available.txt", `server one (\d+) times, server two (\d+) times, the database (\d+)() times`,
			"MariaDB, killed %s times; the servers %s and %s"},
	} {
		killed := matches(t, one.file, one.kills, 1)[0]
		args := []any{killed[3], killed[4], killed[1], killed[2]}
		if killed[4] == "" {
			args = []any{killed[3], killed[1], killed[2]}
		}
		label := fmt.Sprintf(in(words, one.label), args...)
		row := func(name string, calls, failed int64, longest string) {
			fmt.Fprintf(text, "| %s | %s | %s | %s | %s | %s |\n", label, in(words, name), human.Count(calls),
				human.Count(failed), share(calls, failed), longest)
			label = ""
		}
		var calls, failed int64
		for _, m := range matches(t, one.file, `(?m)^ *(Go programs, .*?|HTTP for each id, .*?)`+
			` +(\d+) calls, +(\d+) failed, .* longest call (\S+)$`, 4) {
			longest, err := time.ParseDuration(m[4])
			if err != nil {
				t.Fatal(err)
			}
			name, c, f := m[1], integer(t, m[2]), integer(t, m[3])
			switch {
			case strings.Contains(name, "both"):
				name = "a request for each id, both servers, 1 s"
			case strings.Contains(name, "once"):
				row("all of these", calls, failed, "")
				name = "a request for each id, one server, once"
			}
			calls, failed = calls+c, failed+f
			row(name, c, f, fmt.Sprint(longest.Milliseconds(), " ms"))
		}
		matches(t, one.file, `(?m)^ *\d+ ids, time-ordered: (true|false), none twice$`, 2)
	}
	return text.String()
}

// share returns the part of the calls that did not fail, in percent, rounded down.
func share(calls, failed int64) string {
	if failed == 0 {
		return "100 %"
	}
	units := (calls - failed) * 10_000_000 / calls // of 0.00001 %
	return fmt.Sprintf("%d.%05d %%", units/100_000, units%100_000)
}

// serveFigures is the table of what a request costs.
func serveFigures(t *testing.T, words map[string]string) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "| | %s | %s | %s |\n| --- | ---: | ---: | ---: |\n", in(words, "requests/s"),
		in(words, "of a constant handler"), in(words, "processor time"))
	for i, m := range matches(t, "bench/results/serve.txt", `(?m)^ +(\d+)/s  ([\d.]+) of (?:constant|the first); +([\d.]+ µs) of the server, `+
		`.*µs  (.*)$`, 4) {
		name := strings.TrimPrefix(m[4], "uid serve ")
		switch i {
		case 0:
			name, m[2] = in(words, "a handler that answers with a constant"), ""
		case 1:
			name = in(words, "the same with the limits, headers and garbage collection of `uid serve`")
		default:
			name = "`" + name + "`"
		}
		fmt.Fprintf(text, "| %s | %s | %s | %s |\n", name, human.Count(integer(t, m[1])), m[2], m[3])
	}
	return text.String()
}

// openFigures is the text and the table of the open loop.
func openFigures(t *testing.T, words map[string]string) string {
	const file = "bench/results/open.txt"
	how := matches(t, file, `open loop, (\d+) connections, .* a rate, (\d+) rounds; (\d+) processors, .*; load before: (\S+)`, 1)[0]
	table, held, last := &strings.Builder{}, int64(0), int64(0)
	for _, m := range matches(t, file, `(?m)^ *(\d+)/s  (?:.*of the first;  )?p50 +(\d+) µs  p99 +(\d+) µs  p99.9 +(\d+) µs  p99.99 +(\d+) µs  `+
		`(.*?)(: not held)?$`, 0) {
		rate, name := integer(t, m[1]), strings.TrimPrefix(m[6], "uid serve ")
		switch {
		case name == "constant":
			if m[7] == "" {
				held = max(held, rate)
			}
			continue
		case strings.HasPrefix(name, "constant"):
			name = in(words, "a constant, with the limits and headers of `uid serve`")
		default:
			name = "`" + name + "`"
		}
		label := ""
		if rate != last {
			label, last = human.Count(rate), rate
		}
		fmt.Fprintf(table, "| %s | %s |", label, name)
		if m[7] != "" {
			fmt.Fprintf(table, " %s | | | |\n", in(words, "not held"))
			continue
		}
		for _, micros := range m[2:6] {
			fmt.Fprintf(table, " %.3g |", float64(integer(t, micros))/1e3)
		}
		fmt.Fprintln(table)
	}
	text := fmt.Sprintf(in(words, openText), how[1], how[2], how[3], how[4], human.Count(held),
		strconv.FormatFloat(float64(held)/50_000, 'f', 2, 64))
	return fmt.Sprintf("%s\n\n| %s | | p50 | p99 | p99.9 | p99.99 |\n"+
		"| ---: | --- | ---: | ---: | ---: | ---: |\n%s", text, in(words, "requests/s"), table)
}
