package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// equivalent is a reason for which no test can notice some mutants.
type equivalent struct {
	keys   []string
	reason string
}

// readEquivalents reads equivalent.txt: blocks of keys, one a line, and then the reason that they
// share, on lines that begin with a tab.
func readEquivalents(root string) ([]equivalent, error) {
	name := filepath.Join(root, folder, "equivalent.txt")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var list []equivalent
	var e equivalent
	end := func() error {
		if len(e.keys) == 0 && e.reason == "" {
			return nil
		}
		if len(e.keys) == 0 || e.reason == "" {
			return fmt.Errorf("%s: %q %q, want keys and then a reason", name, e.keys, e.reason)
		}
		list, e = append(list, e), equivalent{}
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		reason, ok := strings.CutPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case ok:
			e.reason = strings.TrimSpace(e.reason + " " + reason)
		case line == "":
			err = end()
		case e.reason != "":
			if err = end(); err == nil {
				e.keys = []string{line}
			}
		default:
			e.keys = append(e.keys, line)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, end()
}

// readOpen reads open.txt: the keys of survivors that nobody has explained yet, one a line.
func readOpen(root string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(root, folder, "open.txt"))
	if err != nil {
		return nil, err
	}
	var keys []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	return keys, nil
}
