package repocheck

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestCommits: each commit that a raw result or a page names is in the history. A rebase takes the
// name of a commit away: then say what it is called now, or what is known.
func TestCommits(t *testing.T) {
	t.Parallel()
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow != "false" {
		t.Skipf("skipped: no whole history: %s %v", shallow, err)
	}
	named := regexp.MustCompile(`(?i)\bcommit"?:? "?([0-9a-f]{7,40})\b`)
	checked := map[string]bool{}
	for _, file := range find(t, func(p string) bool {
		return strings.Contains(p, "results/") || strings.HasSuffix(p, ".md")
	}) {
		for _, m := range named.FindAllStringSubmatch(read(t, file), -1) {
			if checked[m[1]] {
				continue
			}
			checked[m[1]] = true
			if _, err := git("merge-base", "--is-ancestor", m[1], "HEAD"); err != nil {
				t.Errorf("%s names the commit %s, which is not in the history: %v", file, m[1], err)
			}
		}
	}
	if len(checked) < 5 {
		t.Errorf("found %d commits, want 5 or more: this test looks in the wrong place", len(checked))
	}
}
