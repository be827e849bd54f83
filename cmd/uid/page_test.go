package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// pageDay is when the commands of docs/command.md are run whose output depends on nothing else.
var pageDay = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// typed is a command of a page and what it prints.
type typed struct{ command, output string }

// page returns the commands in the console blocks below a heading of docs/command.md.
func page(t *testing.T, heading string) (all []typed) {
	t.Helper()
	text, err := os.ReadFile("../../docs/command.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(section, -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			all = append(all, typed{command, strings.TrimSuffix(output, "\n")})
		}
	}
	if len(all) == 0 {
		t.Fatalf("no commands below %q", heading)
	}
	return all
}

// typing runs a command of the page, whose parts a pipe joins. The folder of the embedded database is
// that of the page's reader.
func (b *bench) typing(t *testing.T, command string) string {
	t.Helper()
	var r result
	for part := range strings.SplitSeq(command, " | ") {
		b.stdin = r.stdout
		before, quoted, _ := strings.Cut(part, " '") // the last word may be one in quotes
		args := strings.Fields(before)[1:]
		if quoted != "" {
			args = append(args, strings.TrimSuffix(quoted, "'"))
		}
		r = b.run(t.Context(), args...)
	}
	if r.stderr != "" {
		t.Errorf("%s: stderr %q", command, r.stderr)
	}
	return strings.ReplaceAll(strings.TrimSuffix(r.stdout, "\n"), b.cache, "/home/me/.cache")
}

// same compares what the page shows with what a command prints. A line of three dots stands for any
// lines, or for the rest. With loose, words with digits are equal, as are claims and lengths of space.
func same(t *testing.T, c typed, got string, loose bool) {
	t.Helper()
	want := c.output
	if loose {
		word := regexp.MustCompile(`[^\s"(),/]*\d[^\s"(),]*|\b[A-Z]{26}\b`) // few claims have no digit
		space := regexp.MustCompile(` +`)
		// Whether a lease is free yet, or an id's time past, depends on the milliseconds since.
		when := regexp.MustCompile(`given back, free in #|free for #|# held, .*|free|in #|# ago`)
		for _, text := range []*string{&want, &got} {
			*text = space.ReplaceAllString(word.ReplaceAllString(*text, "#"), " ")
			*text = when.ReplaceAllString(*text, "WHEN")
		}
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, "(?s:.*)") + "$"
	if !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("$ %s\n%s\ndocs/command.md has\n%s", c.command, got, want)
	}
}

// TestPage: what docs/command.md shows of each command is what it prints.
func TestPage(t *testing.T) {
	t.Parallel()
	for _, heading := range []string{"uid plan", "uid bounds", "uid eras"} {
		b := newBench(t)
		b.now = pageDay
		for _, c := range page(t, heading) {
			same(t, c, b.typing(t, c.command), false)
		}
	}
	b := newBench(t)
	b.now = time.Now()
	for _, heading := range []string{"uid gen", "uid parse"} {
		for _, c := range page(t, heading) {
			same(t, c, b.typing(t, c.command), true)
		}
	}
	b = newBench(t)
	b.now = time.Now()
	b.check(t, exitOK, "", "", "gen")
	b.check(t, exitOK, "", "", "gen", "--namespace", "orders", "--layout", "41-10-10-2/1ms")
	for _, heading := range []string{"uid workers", "uid doctor"} {
		for _, c := range page(t, heading) {
			same(t, c, b.typing(t, c.command), !strings.Contains(c.command, "restored"))
		}
	}
}

// TestPageSegments: the same for number segments and the service.
func TestPageSegments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = pageDay
	for _, c := range page(t, "uid segment") {
		if !strings.Contains(c.command, "expand") {
			same(t, c, b.typing(t, c.command), false)
		}
	}
	numbers := newBench(t)
	numbers.now = pageDay
	for _, c := range page(t, "uid number") {
		same(t, c, numbers.typing(t, c.command), false)
	}
	s := b.serve(t)
	for _, c := range page(t, "uid serve") {
		got := fmt.Sprintf("uid: serving on %s", s.base)
		if path, ok := strings.CutPrefix(c.command, "curl http://127.0.0.1:8080"); ok {
			got = strings.TrimSuffix(s.ok(t, path), "\n")
		}
		same(t, c, got, !strings.Contains(c.command, "order"))
	}
}

// TestPageExpand: the same for ticket servers.
func TestPageExpand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	names := strings.NewReplacer()
	var pairs []string
	for i := range 2 {
		s := dbtest.MariaDB(t, fmt.Sprint("--auto-increment-increment=", i+1),
			fmt.Sprint("--auto-increment-offset=", i+1))
		name := s.CreateDB(t)
		b.check(t, exitOK, "", "", "segment", "init", "--dsn", s.DSN(name))
		if i == 0 {
			b.check(t, exitOK, "1\n", "", "segment", "next", "a", "--source", "ticket", "--dsn", s.DSN(name))
		}
		shown := fmt.Sprintf("db%d:3306/ids", i+1)
		pairs = append(pairs, s.Addr()+"/"+name, shown)
		names = strings.NewReplacer(pairs...)
		b.env[fmt.Sprintf("mysql://db%d/ids", i+1)] = s.DSN(name)
	}
	for _, c := range page(t, "uid segment") {
		if !strings.Contains(c.command, "expand") {
			continue
		}
		command := c.command
		for shown, dsn := range b.env {
			command = strings.ReplaceAll(command, shown, dsn)
		}
		same(t, c, names.Replace(b.typing(t, command)), false)
	}
}
