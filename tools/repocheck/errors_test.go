package repocheck

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestOperationsErrors: the runbook says of every error that a program can branch on what to do.
func TestOperationsErrors(t *testing.T) {
	t.Parallel()
	byPackage, _ := declared(t)
	for _, page := range []string{"docs/operations.md", "docs/operations.zh-CN.md"} {
		text := read(t, page)
		for _, pkg := range []string{
			"assigner", "backfill", "bitsalloc", "lease", "opaque", "segment", "sqlsource", "uid", "workernode",
			"zookeeper",
		} {
			for _, name := range slices.Sorted(maps.Keys(byPackage[pkg])) {
				if strings.HasPrefix(name, "Err") && !strings.Contains(text, "."+name+"`") {
					t.Errorf("%s says nothing of %s.%s", page, pkg, name)
				}
			}
		}
	}
}
