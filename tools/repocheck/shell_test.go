package repocheck

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	commentPattern = regexp.MustCompile(`(?m)^//\t(.+)$`) // a line of code in a Go comment
	promptPattern  = regexp.MustCompile(`(?m)^\$ (.+)$`)  // a line typed at a prompt
	commandPattern = regexp.MustCompile(`^([A-Z_]+=|export |go |uid |make |docker |kubectl |curl )`)
)

// TestShell checks with a shell that it can read every command that a comment or a document shows.
func TestShell(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("skipped: shell suite: sh not found in PATH")
	}
	checked := 0
	check := func(file, script string) {
		t.Helper()
		checked++
		// A placeholder such as <name> would be a redirection, and an ellipsis stands for anything.
		script = regexp.MustCompile(`<[a-z-]+>`).ReplaceAllString(script, "x")
		if out, err := exec.CommandContext(t.Context(), shell, "-n", "-c", script).CombinedOutput(); err != nil {
			t.Errorf("%s: a shell cannot read %q: %s", file, script, out)
		}
	}
	for _, file := range find(t, func(path string) bool { return strings.HasSuffix(path, ".go") }) {
		for _, m := range commentPattern.FindAllStringSubmatch(read(t, file), -1) {
			if commandPattern.MatchString(m[1]) && !strings.Contains(m[1], ":=") {
				check(file, m[1])
			}
		}
	}
	for _, file := range markdown(t) {
		text := read(t, file)
		for _, script := range append(blocks(text, "sh"), blocks(text, "bash")...) {
			check(file, script)
		}
		for _, block := range blocks(text, "console") {
			for _, m := range promptPattern.FindAllStringSubmatch(block, -1) {
				check(file, m[1])
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d commands found: this test looks in the wrong place", checked)
	}
}
