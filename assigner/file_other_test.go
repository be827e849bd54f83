//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package assigner_test

import "testing"

func skipWithoutFile(t *testing.T) {
	t.Skip("skipped: this system has no file lock, so LocalOptions.File is refused")
}
