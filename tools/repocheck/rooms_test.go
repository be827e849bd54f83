package repocheck

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// codeSpan finds what stands between backquotes.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// TestRooms holds the packages that programs link to the table of docs/design.md: each has a row, and
// imports what its row names and no more. What a nested module imports from other modules is in its go.mod.
// Rows without code spans in the last column are of modules that nothing imports.
func TestRooms(t *testing.T) {
	t.Parallel()
	_, table, ok := strings.Cut(read(t, "docs/design.md"),
		"imports beyond the standard library |\n| --- | --- | --- |\n")
	if !ok {
		t.Fatal("docs/design.md has no table of packages")
	}
	rows := map[string][]string{} // of a package's path: what it imports
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			t.Fatalf("a row of the table has %d cells: %s", len(cells)-2, line)
		}
		var imports []string
		for _, m := range codeSpan.FindAllStringSubmatch(cells[3], -1) {
			imports = append(imports, m[1])
		}
		for _, m := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			rows[m[1]] = imports
		}
	}
	outermost := func(p string) bool { // nothing imports these, so they may import everything
		top, _, _ := strings.Cut(p, "/")
		return slices.Contains([]string{"bench", "cmd", "examples", "test", "tools"}, top)
	}
	list := goOutput(t, "list", "-f", `{{.ImportPath}} {{.Module.Path}} {{join .Imports " "}}`, "work")
	for line := range strings.Lines(list) {
		fields := strings.Fields(line)
		short := func(p string) string { return strings.TrimPrefix(strings.TrimPrefix(p, module), "/") }
		p := short(fields[0])
		if outermost(p) {
			continue
		}
		if p == "" {
			p = "uidring"
		}
		want, ok := rows[p]
		if !ok {
			t.Errorf("docs/design.md: no row for %s", p)
			continue
		}
		delete(rows, p)
		var got []string
		for _, i := range fields[2:] {
			own := strings.HasPrefix(i, module+"/")
			if first, _, _ := strings.Cut(i, "/"); own || strings.Contains(first, ".") && fields[1] == module {
				got = append(got, short(i))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("docs/design.md: %s imports %q, and its row has %q", p, got, want)
		}
	}
	for p := range rows {
		if !outermost(p) {
			t.Errorf("docs/design.md has a row for %s, which is no package", p)
		}
	}
}
