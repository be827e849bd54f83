package dbtest

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// process is a child process whose end a goroutine awaits.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
}

// startProcess starts cmd. Where the system can, the child gets sig when this process dies.
//
// That signal belongs to the thread that forked: it is sent when the thread ends, not the process.
// So one goroutine holds on to its thread from the fork until the child has ended.
func startProcess(cmd *exec.Cmd, sig syscall.Signal) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	dieWithParent(cmd, sig)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }
