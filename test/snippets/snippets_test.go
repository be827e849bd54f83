package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// imports are the packages that a snippet may use without saying where they come from.
var imports = []string{
	"context", "database/sql", "fmt", "log", "log/slog", "os", "time", "gorm.io/gorm",
	"github.com/uidring/uidring", "github.com/uidring/uidring/assigner",
	"github.com/uidring/uidring/assigner/etcd", "github.com/uidring/uidring/assigner/kubernetes",
	"github.com/uidring/uidring/assigner/workernode", "github.com/uidring/uidring/assigner/zookeeper",
	"github.com/uidring/uidring/bitsalloc", "github.com/uidring/uidring/bitsalloc/compat",
	"github.com/uidring/uidring/number", "github.com/uidring/uidring/segment",
	"github.com/uidring/uidring/segment/sqlsource", "github.com/uidring/uidring/service",
	"github.com/uidring/uidring/uid", "github.com/uidring/uidring/uid/backfill",
	"github.com/uidring/uidring/uid/opaque", "github.com/uidring/uidring/uid/typed",
	"github.com/uidring/uidring/uid/uidgorm",
}

// notRun are the snippets that are only compiled, by what they contain, and why.
var notRun = map[string]string{
	"zookeeper.Open":       "the addresses are of three servers; test/e2e and assigner/zookeeper have one",
	"etcd.Open":            "the same; assigner/etcd has one",
	"kubernetes.InCluster": "works in a pod only",
}

var (
	goBlock  = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```$")
	ellipsis = regexp.MustCompile(`(?m)^(\s*)\.\.\.$`)
)

// TestSnippets: the Go code of every page compiles, as a function of what readers have at hand, and
// runs without an error. A translation has the code of its page.
func TestSnippets(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, all []string
	for _, page := range append(pages, "../../README.md", "../../AGENTS.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(page, ".zh-CN.md") {
			continue
		}
		for _, m := range goBlock.FindAllStringSubmatchIndex(string(text), -1) {
			line := strings.Count(string(text[:m[4]]), "\n") + 1
			names = append(names, fmt.Sprintf("%s:%d", filepath.Base(page), line))
			all = append(all, string(text[m[4]:m[5]]))
		}
	}
	if len(all) < 14 {
		t.Fatalf("the pages have %d snippets, want 14 or more", len(all))
	}
	program := build(t, names, all)
	srv := dbtest.MariaDB(t)
	left := len(notRun)
	for i, code := range all {
		run := true
		for part := range notRun {
			if strings.Contains(code, part) {
				run, left = false, left-1
			}
		}
		if !run {
			continue
		}
		cmd := exec.CommandContext(t.Context(), program, strconv.Itoa(i))
		cmd.Env = append(os.Environ(), "UID_DSN="+srv.DSN(srv.CreateDB(t)))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", names[i], err, out)
		}
	}
	if left != 0 {
		t.Errorf("%d entries of notRun are of no snippet: correct the list", left)
	}
}

// build compiles the program with the snippets and returns its path.
func build(t *testing.T, names, all []string) string {
	t.Helper()
	var code, head strings.Builder
	for i := range all {
		fmt.Fprintf(&code, `, func(ctx context.Context, db *gorm.DB, pool *sql.DB, id uid.ID, ids uid.Generator,
orders *number.Number, row created, secret []byte, shanghai *time.Location, dsn string,
logger *slog.Logger, rows []Row) error {
	var err error
	_ = err
	{
%s
	}
	return nil
}`, checked(t, names[i], all[i]))
	}
	for _, name := range imports {
		if regexp.MustCompile(`\b` + path.Base(name) + `\.`).MatchString(code.String()) {
			fmt.Fprintf(&head, "import %q\n", name)
		}
	}
	if strings.Contains(code.String(), "clientv3.") {
		head.WriteString("import clientv3 \"go.etcd.io/etcd/client/v3\"\n")
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "code.go"), filepath.Join(dir, "overlay.json")
	program := filepath.Join(dir, "run")
	here, err := filepath.Abs("code.go")
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {here: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{overlay: string(replaced), file: "package main\n" +
		head.String() + "type orderPrefix struct{}; func (orderPrefix) Prefix() string { return \"ord\" }\n" +
		"func code() []snippet { return []snippet{" + code.String()[2:] + "} }\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-gcflags=-e", "-o", program, ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// checked returns the code of a snippet with a check of err after each statement that sets it, and
// with a use of each variable, which a part of a program may leave to the rest.
func checked(t *testing.T, name, code string) string {
	t.Helper()
	code = ellipsis.ReplaceAllString(code, "${1}_ = text\n${1}return err")
	if strings.HasPrefix(name, "AGENTS") { // where ids are those that are filled
		code = "ids := make([]uid.ID, 3);" + code
	}
	const before = "package p;func _(){"
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, before+code+"}", 0)
	if err != nil {
		t.Fatal(err)
	}
	page, line, _ := strings.Cut(name, ":")
	out, at, uses := fmt.Sprintf("//line %s:%s\n", page, line), len(before), ""
	for _, s := range f.Decls[0].(*ast.FuncDecl).Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok {
			continue
		}
		end := files.Position(s.End()).Offset
		for _, left := range a.Lhs {
			v, ok := left.(*ast.Ident)
			if ok && a.Tok == token.DEFINE && v.Name != "_" {
				uses += "\n_ = " + v.Name
			}
			if ok && v.Name == "err" {
				out, at = out+code[at-len(before):end-len(before)]+"; if err != nil { return err }", end
			}
		}
	}
	return out + code[at-len(before):] + uses
}
