//go:build !linux

package main

import (
	"errors"
	"syscall"
)

// ownHostname does nothing here, and setHostname fails.
func ownHostname() *syscall.SysProcAttr { return nil }

func setHostname(string) error { return errors.New("a host name of its own needs Linux") }
