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
	examples = "uid/example_readme_test.go"
)

var (
	blockPattern = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	codePattern  = regexp.MustCompile("`([^`\n]+)`")
	makePattern  = regexp.MustCompile(`\bmake ([a-z-]+)`)
	benchPattern = regexp.MustCompile(`(?s)<!-- bench: begin.*?<!-- bench: end -->\n`)
)

// snippet is the part of the READMEs that the bench report writes.
const snippet = "docs/charts/README-snippet.md"

var update = flag.Bool("update", false, "copy "+snippet+" into the READMEs")

// TestReadmeBench checks that the figures in both READMEs are those of the bench report, or with -update puts them there.
func TestReadmeBench(t *testing.T) {
	want := read(t, snippet)
	for _, file := range []string{english, chinese} {
		text := read(t, file)
		got := benchPattern.FindAllString(text, -1)
		if len(got) != 1 {
			t.Errorf("%s has %d parts between the bench markers, want 1", file, len(got))
			continue
		}
		if got[0] == want {
			continue
		}
		if !*update {
			t.Errorf("%s differs from %s; want what \"go test ./internal/repocheck -count=1 -run=TestReadmeBench -update\" writes", file, snippet)
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
		t.Errorf("%s shows\n%s\nwant the bodies of the Examples in %s\n%s", english, strings.Join(got, "---\n"), examples, strings.Join(want, "---\n"))
	}
}

// TestReadmeLanguages checks that both READMEs have the same shape: the levels of their headings, their code, the rows of their
// tables and their lists, and everything that is code within their prose.
func TestReadmeLanguages(t *testing.T) {
	t.Parallel()
	en, zh := benchPattern.ReplaceAllString(read(t, english), ""), benchPattern.ReplaceAllString(read(t, chinese), "")
	for _, c := range []struct {
		what  string
		parts func(text string) []string
	}{
		{"code blocks", func(text string) []string { return blocks(text, "") }},
		{"heading levels", func(text string) []string { return starts(prose(text), `^#+ `) }},
		{"table rows", func(text string) []string { return starts(prose(text), `^\|`) }},
		{"list entries", func(text string) []string { return starts(prose(text), `^(- |\d+\. )`) }},
		{"code in the prose", func(text string) []string {
			code := codePattern.FindAllString(prose(text), -1)
			slices.Sort(code)
			return code
		}},
	} {
		if e, z := c.parts(en), c.parts(zh); !slices.Equal(e, z) || len(e) == 0 {
			t.Errorf("%s: %s has %q, %s has %q", c.what, english, e, chinese, z)
		}
	}
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
			if !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "docs/") && !strings.HasPrefix(path, "internal/") && path != ".ci/run" {
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
