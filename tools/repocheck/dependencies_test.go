package repocheck

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies: docs/decisions.md says why each module is required, or another one of its
// repository, but for those that bench compares. Versions on the page are those of every go.mod.
func TestDependencies(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/decisions.md")
	required := regexp.MustCompile(`(?m)^(?:require)?\s+((\w[\w.-]+/[\w-]+)\S*) (v\S+)$`) // no "// indirect"
	checked := 0
	for _, file := range find(t, func(p string) bool {
		return path.Base(p) == "go.mod" && !strings.Contains(p, "testdata/")
	}) {
		for _, m := range required.FindAllStringSubmatch(read(t, file), -1) {
			name, repository, version := m[1], m[2], m[3]
			if strings.HasPrefix(name, module) {
				continue
			}
			if host, _, _ := strings.Cut(name, "/"); host == "github.com" || host == "golang.org" {
				repository = strings.Join(strings.SplitN(name, "/", 4)[:3], "/")
			}
			if checked++; file != "bench/go.mod" && !strings.Contains(page, "`"+repository) {
				t.Errorf("%s requires %s: docs/decisions.md does not say why", file, name)
			}
			said := regexp.MustCompile("`" + regexp.QuoteMeta(name) + "` (v[^`|]+)").FindStringSubmatch(page)
			if said != nil && !strings.Contains(said[1], version+" ") {
				t.Errorf("%s requires %s %s, docs/decisions.md says %s", file, name, version, said[1])
			}
		}
	}
	if checked < 40 {
		t.Errorf("found %d requirements, want 40 or more: this test looks in the wrong place", checked)
	}
}
