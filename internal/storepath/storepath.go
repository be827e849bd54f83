// Package storepath checks the paths that stores without databases keep universes of ids under.
package storepath

import (
	"cmp"
	"fmt"
	"strings"
)

// most bounds a path, in bytes.
const most = 255

// Of returns the path of a universe of ids, /uidring if text is empty. A text that is no path is an
// error of the package called pkg.
func Of(pkg, text string) (string, error) {
	n := cmp.Or(text, "/uidring")
	if !strings.HasPrefix(n, "/") || strings.HasSuffix(n, "/") || strings.Contains(n, "//") ||
		len(n) > most {
		return "", fmt.Errorf("%s: Namespace is %q, want a path such as /uidring of at most %d "+
			"bytes", pkg, n, most)
	}
	return n, nil
}
