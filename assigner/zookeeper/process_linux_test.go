package zookeeper_test

import "syscall"

// dieWithParent has the kernel end a child whose parent died.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
