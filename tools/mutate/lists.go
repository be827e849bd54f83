package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// The lists of survivors: those that change nothing which a test could notice, those that are wrong
// where another goroutine runs between two instructions, and those that nobody has explained yet.
var lists = []string{"equivalent", "unmet", open}

// open is the list of survivors without a reason.
const open = "open"

// readList returns the keys of a list: blocks of keys, one a line, and then the reason that they
// share, on lines that begin with a tab. Those of the list open have none.
func readList(root, list string) (keys []string, err error) {
	name := filepath.Join(root, folder, list+".txt")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	bare, explained := false, false // the line before is a key; is part of a reason
	for line := range strings.Lines(string(text) + "\n\n") {
		line = strings.TrimSuffix(line, "\n")
		reason := strings.HasPrefix(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case reason && !bare && !explained, line == "" && bare && list != open:
			return nil, fmt.Errorf("%s: %q after %q, want keys and then a reason", name, line, keys)
		case line != "" && !reason:
			keys = append(keys, line)
		}
		bare, explained = line != "" && !reason, reason
	}
	return keys, nil
}

// survivors returns the name of the list of each survivor of a package that is listed, by key.
func survivors(root, pkg string) (map[string]string, error) {
	listed := map[string]string{}
	var errs []error
	for _, list := range lists {
		keys, err := readList(root, list)
		errs = append(errs, err)
		for _, key := range keys {
			if file, _, _ := strings.Cut(key, " "); path.Dir(file) != pkg {
				continue
			}
			if listed[key] != "" {
				errs = append(errs, fmt.Errorf("listed twice: %s", key))
			}
			listed[key] = list
		}
	}
	return listed, errors.Join(errs...)
}
