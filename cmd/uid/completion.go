package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says how to use it.
func (*completionCmd) Help() string {
	return `bash and zsh: source <(uid completion bash), or zsh, in ~/.bashrc or ~/.zshrc. ` +
		`fish: uid completion fish > ~/.config/fish/completions/uid.fish.`
}

// Run prints what makes the shell ask "uid completion words" as the user types.
func (c *completionCmd) Run(p *program) error {
	text := "complete -o default -C 'uid completion words' uid"
	switch c.Shell {
	case "zsh":
		text = "autoload -Uz bashcompinit && bashcompinit\n" + text
	case "fish":
		text = "complete -c uid -a '(env COMP_LINE=(commandline -cp) uid completion words)'"
	}
	_, err := fmt.Fprintln(p.out, text)
	return err
}

// completeLine prints the words that can continue the line before the cursor. A shell passes the
// line in the environment.
func (p *program) completeLine(root *kong.Node) {
	line := p.getenv("COMP_LINE")
	if n, err := strconv.Atoi(p.getenv("COMP_POINT")); err == nil && n >= 0 && n < len(line) {
		line = line[:n]
	}
	words := strings.Fields(line)
	var current string
	if len(words) > 1 && !strings.HasSuffix(line, " ") {
		current, words = words[len(words)-1], words[:len(words)-1]
	}
	for _, word := range completions(root, words, strings.HasPrefix(current, "-")) {
		if word != "" && strings.HasPrefix(word, current) {
			fmt.Fprintln(p.out, word)
		}
	}
}

// completions returns the words that can follow words: flags, or values and commands.
func completions(root *kong.Node, words []string, wantFlags bool) (found []string) {
	node := root
	for _, word := range words {
		for _, child := range node.Children {
			if child.Name == word {
				node = child
			}
		}
	}
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			name := "--" + f.Name
			if len(words) > 0 && !f.IsBool() && (words[len(words)-1] == name ||
				f.Short != 0 && words[len(words)-1] == "-"+string(f.Short)) {
				if f.Name == "layout" {
					return presetNames()
				}
				return f.EnumSlice()
			}
			if wantFlags {
				found = append(found, name)
			}
		}
	}
	if wantFlags {
		return found
	}
	if node.Name == "help" {
		node = root
	}
	for _, child := range node.Children {
		found = append(found, child.Name)
	}
	for _, arg := range node.Positional {
		found = append(found, arg.EnumSlice()...)
	}
	return found
}
