package repocheck

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	english  = "README.md"
	chinese  = "README.zh-CN.md"
	examples = "example_readme_test.go"
)

var (
	blockPattern = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	codePattern  = regexp.MustCompile("`([^`\n]+)`")
	makePattern  = regexp.MustCompile(`\bmake ([a-z-]+)`)
	benchPattern = regexp.MustCompile(`(?s)<!-- bench: begin.*?<!-- bench: end -->\n`)
)

// snippets are the parts of the READMEs that the bench report writes.
var snippets = map[string]string{
	english: "docs/charts/README-snippet.txt",
	chinese: "docs/charts/README-snippet.zh-CN.txt",
}

var update = flag.Bool("update", false, "copy the bench report's parts into the READMEs")

// TestReadmeBench checks that the figures in both READMEs are those of the bench report, or with
// -update puts them there.
func TestReadmeBench(t *testing.T) {
	for file, snippet := range snippets {
		want, text := read(t, snippet), read(t, file)
		got := benchPattern.FindAllString(text, -1)
		if len(got) != 1 {
			t.Errorf("%s has %d parts between the bench markers, want 1", file, len(got))
			continue
		}
		if got[0] == want {
			continue
		}
		if !*update {
			t.Errorf("%s differs from %s; want what \"go test ./tools/repocheck -count=1 "+
				"-run=TestReadmeBench -update\" writes", file, snippet)
			continue
		}
		text = strings.Replace(text, got[0], want, 1)
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// blocks returns the fenced code blocks of text in the language lang, or all of them with their language for "".
func blocks(text, lang string) []string {
	var code []string
	for _, m := range blockPattern.FindAllStringSubmatch(text, -1) {
		switch lang {
		case "":
			code = append(code, m[1]+"\n"+m[2])
		case m[1]:
			code = append(code, m[2])
		}
	}
	return code
}

// bodies returns the bodies of the Example functions in the file at path, as the README prints them: without the outer
// indentation and the expected output.
func bodies(t *testing.T, path string) []string {
	t.Helper()
	src := read(t, path)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Example") {
			continue
		}
		body := src[files.Position(fn.Body.Lbrace).Offset+1 : files.Position(fn.Body.Rbrace).Offset]
		body, _, _ = strings.Cut(body, "\t// Output:")
		body = strings.ReplaceAll(body, "\n\t", "\n")
		found = append(found, strings.Trim(body, "\n")+"\n")
	}
	return found
}

// TestReadmeExamples checks that the README's Go code is the code of the tested Examples, all of it and in their order.
func TestReadmeExamples(t *testing.T) {
	t.Parallel()
	got, want := blocks(read(t, english), "go"), bodies(t, examples)
	if len(want) == 0 {
		t.Fatalf("%s has no Example", examples)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s shows\n%s\nwant the bodies of the Examples in %s\n%s",
			english, strings.Join(got, "---\n"), examples, strings.Join(want, "---\n"))
	}
}

// part is what two languages of a document have in common.
type part struct {
	what string
	of   func(text string) []string
}

// shape is what a translation keeps: code blocks, the levels of headings, the rows of tables with
// the labels that they begin with, and the entries of lists.
var shape = []part{
	{"code blocks", func(text string) []string { return blocks(text, "") }},
	{"heading levels", func(text string) []string { return starts(prose(text), `^#+ `) }},
	{"table rows", func(text string) []string { return starts(prose(text), `^\|( [A-Z]\d+ \|)?`) }},
	{"list entries", func(text string) []string { return starts(prose(text), `^(- |\d+\. )`) }},
}

// compare compares parts of a document and its translation.
func compare(t *testing.T, enFile, zhFile string, parts ...part) {
	t.Helper()
	en := benchPattern.ReplaceAllString(read(t, enFile), "")
	zh := benchPattern.ReplaceAllString(read(t, zhFile), "")
	for _, p := range parts {
		if e, z := p.of(en), p.of(zh); !slices.Equal(e, z) {
			t.Errorf("%s: %s has %q, %s has %q", p.what, enFile, e, zhFile, z)
		}
	}
}

// TestLanguages checks that every translation has the shape of its document, and that both READMEs
// also name the same code in their prose.
func TestLanguages(t *testing.T) {
	t.Parallel()
	for _, zh := range find(t, func(path string) bool {
		return strings.HasSuffix(path, ".zh-CN.md")
	}) {
		compare(t, strings.TrimSuffix(zh, ".zh-CN.md")+".md", zh, shape...)
	}
	compare(t, english, chinese, part{"code in the prose", func(text string) []string {
		code := codePattern.FindAllString(prose(text), -1)
		slices.Sort(code)
		return code
	}})
}

// starts returns what pattern matches at the beginning of each line.
func starts(text, pattern string) []string {
	return regexp.MustCompile("(?m)"+pattern).FindAllString(text, -1)
}

// TestReadmePaths checks the paths and the make targets that the documents name.
func TestReadmePaths(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	checked := 0
	for _, file := range markdown(t) {
		text := read(t, file)
		for _, m := range makePattern.FindAllStringSubmatch(text, -1) {
			// Prose has "make sure" and the like: only what stands in code counts.
			if !strings.Contains(text, "`make "+m[1]) && !strings.Contains(text, "\nmake "+m[1]+"\n") {
				continue
			}
			if checked++; !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which the Makefile does not have", file, m[1])
			}
		}
		for _, m := range codePattern.FindAllStringSubmatch(text, -1) {
			path, _, _ := strings.Cut(strings.TrimPrefix(m[1], "go run "), " ")
			if !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "docs/") &&
				!strings.HasPrefix(path, "internal/") && !strings.HasPrefix(path, "tools/") &&
				path != ".ci/run" {
				continue
			}
			path = strings.TrimSuffix(strings.TrimPrefix(path, "./"), "/...")
			if checked++; !exists(path) {
				t.Errorf("%s names %s, which does not exist", file, path)
			}
		}
	}
	if checked == 0 {
		t.Error("no path found: this test looks in the wrong place")
	}
}
