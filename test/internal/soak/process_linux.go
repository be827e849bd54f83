package soak

import "syscall"

// dieWithParent makes the kernel kill a worker process when this one ends. The end of its standard
// input would end it as well, unless it is paused.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
