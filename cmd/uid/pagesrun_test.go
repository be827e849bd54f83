package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment/sqlsource"
)

// pagesRun are the commands of the pages that this file runs, with what a reader puts in place of the
// page's words, and what they print.
var pagesRun = map[string]struct{ as, prints string }{
	"uid parse 1735689600123456789": {
		"", `WORKER`,
	},
	"uid parse --layout twitter": {
		"uid parse --layout twitter 1585353847786348544", "WORKER",
	},
	"uid plan --bits 53": {
		"", `ids +53 bits`,
	},
	"uid plan --above N --from TIME": {
		"uid plan --above 2124340958123593728 --from 2026-12-24T00:00:00Z", "runs out",
	},
	"uid plan --above MAXID --layout 30-10-13": {
		"uid plan --above 1000000000 --layout 30-10-13", "runs out",
	},
	"uid eras --layout 29-21-13@2016-09-19T16:00:00Z": {
		"", `29-21-13 ends in`,
	},
	"go run -v ./cmd/uid plan --years 50 --workers 1000 --rate 200000": {
		"uid plan --years 50 --workers 1000 --rate 200000", "runs out",
	},
	"go run -v ./cmd/uid gen": {
		"uid gen", `^\d+\n$`,
	},
	"uid workers restored --dsn $UID_DSN --highest 5000 --reach 25m --layout default": {
		"", "restored|5,?000",
	},
	"uid segment move order --to mysql://db2/ids --yes": {
		"uid segment move order --to $OTHER --yes", "moved",
	},
	"uid segment init": {"", ""},
	"uid segment list": {
		"", "order",
	},
	"uid schema": {
		"", "CREATE TABLE IF NOT EXISTS",
	},
	"uid workers": {
		"", "WORKER_LEASE",
	},
	"uid workers reap": {"", ""},
	"uid doctor":       {"", `ok`},
	"uid version":      {"", "uid"},
	"uid completion fish > ~/.config/fish/completions/uid.fish": {
		"uid completion fish", "complete",
	},
	"uid help COMMAND": {
		"uid help plan", "uid plan",
	},
}

// pagesNotRun are the commands of the pages that are not run here, by the start of a line, and why.
var pagesNotRun = map[string]string{
	"make ":                     "CI runs the targets; TestReadmePaths in tools/repocheck finds them in the Makefile",
	"sh bench/anchors/build.sh": "builds Java programs from the network",
	"git clone ":                "a test asks no network",
	"go get":                    "there is no version, and a test asks no network",
	"go mod edit ":              "the same",
	"go install":                "the same",
	"go test":                   "runs of tests",
	"go run ./bench/":           "minutes of measuring",
	"go run ./test/scale":       "minutes of measuring",
	"go tool objdump":           "output to be read",
	"for m in ":                 "TestExamplesCopied in examples runs it",
	"go build ./...":            "TestExamplesCopied in examples runs it",
	"spin ":                     "docs/model/check.sh, by make model",
	"model=":                    "docs/model/check.sh, by make model",
	"sh docs/model/check.sh":    "make model",
	"kubectl ":                  "needs a cluster; TestObjects has the label",
	"openssl ":                  "no program of this repository",
	"$ uid ":                    "TestMovePage, TestMoving and TestPage run what is typed at a prompt",
	"$ curl ":                   "TestPagesCurl and TestPageSegments",
	"$ JSON=":                   "TestPagesCurl",
	"uid == ":                   "a formula",
	"uid serve":                 "TestServe and others, and TestPagesCurl",
	"uid segment expand":        "TestPageExpand",
	"uid workers move":          "TestMovePage",
	"uid workers take-back":     "TestWorkersTakeBack",
	"uid health [ADDRESS]":      "TestHealth",
	"uid segment set":           "named without its arguments: its flags are checked",
	"uid number delete":         "named without its arguments: its flags are checked",
	"uid parse --layout":        "named without its arguments: its flags are checked",
	"uid doctor --peer":         "named without its arguments: its flags are checked",
	"uid parse":                 "named without its arguments: its flags are checked",
	"uid eras":                  "named without its arguments: its flags are checked",
	"uid gen":                   "named without its arguments: its flags are checked",
	"uid partitions":            "named without its arguments: its flags are checked",
	"uid workers restored":      "named without its arguments: its flags are checked",
}

// pagesShown returns the commands that the pages show in blocks, after a prompt or not, and in prose.
func pagesShown(t *testing.T) (all []string) {
	t.Helper()
	fence := regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```")
	code := regexp.MustCompile("`((?:uid|curl|go|make|kubectl|docker|openssl|sh|spin|systemctl) [^`]*)`")
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".zh-CN.md") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.SplitSeq(m[2], "\n") {
				line, _, _ = strings.Cut(line, " # ")
				line = strings.TrimSpace(line)
				if line != "" && (m[1] == "sh" && !strings.HasSuffix(path, "command.md") ||
					m[1] == "console" && strings.HasPrefix(line, "$ ")) {
					all = append(all, line)
				}
			}
		}
		prose := fence.ReplaceAllString(string(text), "")
		for _, m := range code.FindAllStringSubmatch(prose, -1) {
			all = append(all, strings.Join(strings.Fields(m[1]), " "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestPagesCommands: each command of each page is run, here or by the test that is named above, or
// has a reason why not. Of uid the words and flags are checked where it is not run here.
func TestPagesCommands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = pageDay
	dir := t.TempDir()
	b.env["UID_DSN"] = filepath.Join(dir, "ids.db")
	other := filepath.Join(dir, "other.db")
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitOK, "", "", "segment", "init", "--dsn", other)
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "1000")
	b.check(t, exitOK, "", "", "gen")
	values := strings.NewReplacer("$UID_DSN", b.env["UID_DSN"], "$OTHER", other)
	left, reasons := maps.Clone(pagesRun), maps.Clone(pagesNotRun)
	// What changes the database comes last.
	shown := pagesShown(t)
	slices.SortStableFunc(shown, func(a, b string) int { return pagesLate(a) - pagesLate(b) })
	for _, line := range shown {
		if c, ok := pagesRun[line]; ok {
			delete(left, line)
			if c.as == "" {
				c.as = line
			}
			r := b.run(t.Context(), strings.Fields(values.Replace(c.as))[1:]...)
			if r.code != exitOK || !regexp.MustCompile(c.prints).MatchString(r.stdout) {
				t.Errorf("%s = %d\n%s%s\nwant 0, and %q", c.as, r.code, r.stdout, r.stderr, c.prints)
			}
			continue
		}
		if line, ok := strings.CutPrefix(line, "uid "); ok && !strings.HasPrefix(line, "== ") {
			words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(line))
			r := b.run(t.Context(), append(words, "--help")...)
			if r.code != exitOK { // the last one may be a flag that wants a value
				r = b.run(t.Context(), append(words, "x", "--help")...)
			}
			if r.code != exitOK {
				t.Errorf("uid %s: %s", line, r.stderr)
			}
		}
		why := ""
		for start := range pagesNotRun {
			if strings.HasPrefix(line, start) && len(start) > len(why) {
				why = start
			}
		}
		if delete(reasons, why); why == "" {
			t.Errorf("no test runs %q, which a page shows, and nothing says why", line)
		}
	}
	tests := testsOfRepository(t)
	for _, why := range pagesNotRun {
		for _, name := range regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(why, -1) {
			if !strings.Contains(tests, "\nfunc "+name+"(") {
				t.Errorf("there is no test %s", name)
			}
		}
	}
	for line := range left {
		t.Errorf("no page shows %q: correct the list", line)
	}
	for start := range reasons {
		t.Errorf("no page shows what begins with %q: correct the list", start)
	}
}

// testsOfRepository returns the text of all test files.
func testsOfRepository(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			var text []byte
			text, err = os.ReadFile(path)
			all.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// pagesLate is 1 for a command that changes what others read.
func pagesLate(line string) int {
	if strings.Contains(line, "restored") || strings.Contains(line, " move ") {
		return 1
	}
	return 0
}

// TestPagesCurl: curl gets from a server what docs/service.md shows, but for the numbers.
func TestPagesCurl(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"sh", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: %s not found in PATH", program)
		}
	}
	text, err := os.ReadFile("../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.now = pageDay
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "1000")
	s := b.serve(t)
	block := regexp.MustCompile("(?s)```console\n(.*?)```").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("docs/service.md has no commands")
	}
	claim := regexp.MustCompile(`"claim":"(\w+)","worker":(\d+)`)
	shown, got := claim.FindStringSubmatch(block[1]), []string(nil)
	given, commands := "", 0
	for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		if strings.HasPrefix(line, "JSON=") {
			given = line + "; "
			continue
		}
		commands++
		run := strings.ReplaceAll(line, "http://127.0.0.1:8080", s.base)
		if got != nil {
			run = strings.NewReplacer(shown[1], got[1], `"worker":`+shown[2], `"worker":`+got[2]).Replace(run)
		}
		// The times of the page are in the past.
		run = regexp.MustCompile(`"(until|used)":"[^"]*"`).ReplaceAllStringFunc(run, func(text string) string {
			key, _, _ := strings.Cut(text, ":")
			return fmt.Sprintf(`%s:"%s"`, key, pagesTime(key, b))
		})
		out, err := exec.CommandContext(t.Context(), "sh", "-c", given+"curl -sS --fail-with-body "+
			strings.TrimPrefix(run, "curl ")).CombinedOutput()
		if err != nil {
			t.Errorf("$ %s\n%s%v", run, out, err)
		}
		if strings.Contains(line, "/assign") {
			if got = claim.FindStringSubmatch(string(out)); got == nil {
				t.Fatalf("$ %s\n%s", run, out)
			}
		}
		if strings.HasSuffix(line, ".json") { // of which the page shows nothing
			if !strings.Contains(string(out), `"openapi"`) {
				t.Errorf("$ %s\n%.100s", run, out)
			}
			continue
		}
		same(t, typed{line, strings.TrimSuffix(want, "\n")}, strings.TrimSuffix(string(out), "\n"), true)
	}
	if commands < 8 {
		t.Errorf("docs/service.md has %d commands, want 8 or more", commands)
	}
}

// pagesTime is a time that a program sends with a claim: the end of what it used, or of its next window.
func pagesTime(key string, b *bench) string {
	at := b.clock()
	if strings.Contains(key, "until") {
		at = at.Add(20 * 60e9)
	}
	return at.UTC().Format("2006-01-02T15:04:05Z")
}

// TestPagesSQL runs the statements of the pages, each block on tables as its readers have them.
// Those of sql/README.md are run by TestRestorePage and others.
func TestPagesSQL(t *testing.T) {
	t.Parallel()
	db := openMoving(t)
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	dbtest.SkipOnMySQL(t, "the tables are made in the ways of MariaDB")
	blocks := 0
	for _, page := range []string{"segment", "moving", "operations", "workers", "service"} {
		text, err := os.ReadFile("../../docs/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?ms)^ *```sql\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1) {
			blocks++
			runSQL(t, db, "SET FOREIGN_KEY_CHECKS = 0",
				"CREATE OR REPLACE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, created DATETIME NOT NULL)",
				"CREATE OR REPLACE TABLE invoices (id BIGINT PRIMARY KEY AUTO_INCREMENT)",
				"CREATE OR REPLACE TABLE items (order_id INT NOT NULL)",
				"INSERT INTO orders VALUES (7, NOW()), (9, NOW())", "DELETE FROM leaf_alloc",
				"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 10, 1000)")
			if strings.Contains(m[1], "items_order") {
				runSQL(t, db, "ALTER TABLE items ADD CONSTRAINT items_order "+
					"FOREIGN KEY (order_id) REFERENCES orders (id)")
			}
			if strings.Contains(m[1], "MODIFY uid") {
				runSQL(t, db, "ALTER TABLE orders ADD COLUMN uid BIGINT NULL", "UPDATE orders SET uid = id")
			}
			if strings.Contains(m[1], "9220000000000000000") {
				runSQL(t, db, "ALTER TABLE orders MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
			}
			for statement := range strings.SplitSeq(strings.TrimSpace(m[1]), ";") {
				if statement = strings.TrimSpace(statement); statement != "" {
					runSQL(t, db, statement)
				}
			}
			if strings.Contains(m[1], "UPDATE leaf_alloc") {
				var at int64
				if err := db.Raw("SELECT max_id FROM leaf_alloc").Row().Scan(&at); err != nil || at != 10000009 {
					t.Errorf("the counter is at %d, %v, want 10000009", at, err)
				}
			}
		}
	}
	if blocks < 9 {
		t.Errorf("the pages have %d blocks of SQL, want 9 or more", blocks)
	}
}
