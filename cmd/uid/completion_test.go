package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompletion: "uid completion words" prints the words that can follow a command line.
func TestCompletion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := strings.Fields("gen parse plan bounds eras workers doctor segment number serve health schema " +
		"partitions version completion help")
	for line, want := range map[string][]string{
		"uid ":                      all,
		"uid se":                    {"segment", "serve"},
		"uid help se":               {"segment", "serve"},
		"uid segment ":              {"init", "list", "set", "next", "delete", "move", "expand"},
		"uid gen --fo":              {"--format"},
		"uid gen --format ":         {"dec", "base32", "base62", "json", "table"},
		"uid gen -f base":           {"base32", "base62"},
		"uid gen -n 5 --kind c":     {"cached"},
		"uid gen --layout baidu":    {"baidu", "baidu-sample"},
		"uid workers r":             {"reap", "restored"},
		"uid workers t":             {"take-back"},
		"uid completion ":           {"bash", "zsh", "fish"},
		"uid gen --dsn ":            nil,
		"uid segment next --source": {"--source"},
		"uid":                       all,
		"":                          all,
	} {
		b.env["COMP_LINE"] = line
		// As bash calls it.
		r := b.check(t, exitOK, "", "", "completion", "words", "uid", "x", "--y")
		if got := strings.Fields(r.stdout); !slices.Equal(got, want) {
			t.Errorf("%q completes to %q, want %q", line, got, want)
		}
	}
	b.env["COMP_LINE"], b.env["COMP_POINT"] = "uid sch and more", "7"
	if got := b.check(t, exitOK, "", "", "completion", "words").stdout; got != "schema\n" {
		t.Errorf("with the cursor after uid sch the words are %q, want schema", got)
	}
	for shell, want := range map[string]string{
		"bash": "complete ", "zsh": "bashcompinit", "fish": "commandline",
	} {
		b.check(t, exitOK, want, "", "completion", shell)
	}
}

// TestCompletionBash: the script that the command prints works in a real bash.
func TestCompletionBash(t *testing.T) {
	t.Parallel()
	bash, home := command(t, "completion", "bash")
	script, err := bash.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bash.Path, filepath.Join(home, "uid")); err != nil {
		t.Skip("skipped: no symbolic links here: ", err)
	}
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("skipped: bash completion suite: ", err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-c", string(script)+`
asked=$(complete -p uid | sed "s/.*-C '\\([^']*\\)'.*/\\1/")
COMP_LINE="uid gen --ki" COMP_POINT=12 eval "$asked uid --ki gen"`)
	cmd.Env = append(bash.Env, "PATH="+home+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "--kind\n" {
		t.Errorf("bash completes to %q, %v, want --kind", out, err)
	}
}
