//go:build !linux

package zookeeper_test

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
