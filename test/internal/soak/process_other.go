//go:build unix && !linux

package soak

import "syscall"

// dieWithParent does nothing here: a worker process ends when the pipe at its standard input does.
func dieWithParent() *syscall.SysProcAttr { return nil }
