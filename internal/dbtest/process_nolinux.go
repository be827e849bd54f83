//go:build !linux

package dbtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing: there is no such signal here.
func dieWithParent(*exec.Cmd, syscall.Signal) {}
