//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package assigner_test

import "testing"

func skipWithoutFile(t *testing.T) { t.Skip("no file lock on this system") }
