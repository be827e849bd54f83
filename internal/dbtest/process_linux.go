package dbtest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel send sig to the child when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = sig
}
