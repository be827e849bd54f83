// Package snippets compiles the Go code of the pages in docs.
package snippets

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// head is what a snippet may use without saying where it comes from.
const head = `package snippets

import (
	"context"
	"database/sql"
	"log"
	"log/slog"
	"os"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/backfill"
	"github.com/uidring/uidring/uid/opaque"
	"github.com/uidring/uidring/uid/typed"
	"github.com/uidring/uidring/uid/uidgorm"
)

type orderPrefix struct{}

func (orderPrefix) Prefix() string { return "ord" }

`

// given declares what the pages' readers have at hand.
const given = `func _(
	ctx context.Context, db *gorm.DB, pool *sql.DB, id uid.ID, ids uid.Generator, orders *number.Number,
	row struct{ Created time.Time }, secret []byte, shanghai *time.Location,
) error {
	var err error
	{
%s
	}
	return err
}

`

var (
	goBlock  = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```$")
	ellipsis = regexp.MustCompile(`(?m)^(\s*)\.\.\.$`)
	// A part of a program may leave to the rest what it has declared and imported.
	harmless = regexp.MustCompile(`declared and not used|imported and not used|^#|too many errors|^$`)
)

// TestSnippets: the Go code of every page compiles, as a part of a function that has the variables of
// given. The READMEs' code is that of Examples, and a translation has the code of its page.
func TestSnippets(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	code.WriteString(head)
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(page, ".zh-CN.md") {
			continue
		}
		for _, m := range goBlock.FindAllStringSubmatch(string(text), -1) {
			found++
			fmt.Fprintf(&code, "//line %s:1\n", filepath.Base(page))
			fmt.Fprintf(&code, given, ellipsis.ReplaceAllString(m[2], "${1}_ = text\n${1}return err"))
		}
	}
	if found < 10 {
		t.Fatalf("the pages have %d snippets, want 10 or more", found)
	}
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "snippets.go"), filepath.Join(dir, "overlay.json")
	here, err := filepath.Abs("snippets.go") // which exists for the compiler alone
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {here: file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: []byte(code.String()), overlay: replaced} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-gcflags=-e", "-o", os.DevNull, ".")
	out, _ := cmd.CombinedOutput() // what a snippet leaves unused always fails
	compiled := false
	for line := range strings.SplitSeq(string(out), "\n") {
		if compiled = compiled || strings.Contains(line, "declared and not used"); !harmless.MatchString(line) {
			t.Error(line)
		}
	}
	if !compiled {
		t.Errorf("the compiler has not seen the snippets: %s", out)
	}
}
