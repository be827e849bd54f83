package main

import "syscall"

// dieWithParent makes the kernel end a worker process with this one. The pipe at its standard input
// does so too, unless it is paused.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
