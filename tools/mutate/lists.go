package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// explained is a reason for which no test notices some mutants.
type explained struct {
	keys   []string
	reason string
}

// The lists of survivors that are explained: those that change nothing which a test could notice,
// and those that are wrong where another goroutine runs between two instructions.
var lists = []string{"equivalent", "unmet"}

// readList reads a list: blocks of keys, one a line, and then the reason that they share, on lines
// that begin with a tab.
func readList(root, list string) ([]explained, error) {
	name := filepath.Join(root, folder, list+".txt")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []explained
	var e explained
	end := func() error {
		if len(e.keys) == 0 && e.reason == "" {
			return nil
		}
		if len(e.keys) == 0 || e.reason == "" {
			return fmt.Errorf("%s: %q %q, want keys and then a reason", name, e.keys, e.reason)
		}
		all, e = append(all, e), explained{}
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
	return all, end()
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

// survivors returns the name of the list of each survivor of a package that is listed, by key.
func survivors(root, pkg string) (map[string]string, error) {
	listed := map[string]string{}
	var errs []error
	add := func(key, list string) {
		file, _, _ := strings.Cut(key, " ")
		if path.Dir(file) != pkg {
			return
		}
		if listed[key] != "" {
			errs = append(errs, fmt.Errorf("listed twice: %s", key))
		}
		listed[key] = list
	}
	for _, list := range lists {
		all, err := readList(root, list)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			for _, key := range e.keys {
				add(key, list)
			}
		}
	}
	open, err := readOpen(root)
	if err != nil {
		return nil, err
	}
	for _, key := range open {
		add(key, "open")
	}
	return listed, errors.Join(errs...)
}
