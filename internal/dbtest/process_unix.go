//go:build unix

package dbtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// pause and resume go to the process and to its children, which for PostgreSQL are the sessions.
func pause(p *process) error  { return signalAll(p, syscall.SIGSTOP) }
func resume(p *process) error { return signalAll(p, syscall.SIGCONT) }

func signalAll(p *process, sig syscall.Signal) error {
	// The parent is paused first, so that it starts no child that is missed.
	if err := p.signal(sig); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	for _, pid := range children(p.cmd.Process.Pid) {
		syscall.Kill(pid, sig)
	}
	return nil
}

// children returns the direct children of a process as ps sees them.
func children(parent int) []int {
	out, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	var pids []int
	for line := range strings.Lines(string(out)) {
		var pid, ppid int
		if n, _ := fmt.Sscan(line, &pid, &ppid); n == 2 && ppid == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// unprivileged has cmd run as an unprivileged user if this process is root, because PostgreSQL
// refuses to run as root.
func unprivileged(cmd *exec.Cmd) error {
	uid, gid, err := unprivilegedUser()
	if err != nil || uid < 0 {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return nil
}

// giveAway makes a directory the unprivileged user's, if this process is root.
func giveAway(dir string) error {
	uid, gid, err := unprivilegedUser()
	if err != nil || uid < 0 {
		return err
	}
	return os.Chown(dir, uid, gid)
}

// unprivilegedUser returns the user that takes root's place, or -1 if this process is not root.
func unprivilegedUser() (uid, gid int, err error) {
	if os.Geteuid() != 0 {
		return -1, -1, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return -1, -1, fmt.Errorf("dbtest: running as root, with no unprivileged user to start a "+
			"server: %w", err)
	}
	uid, err = strconv.Atoi(u.Uid)
	if err == nil {
		gid, err = strconv.Atoi(u.Gid)
	}
	return uid, gid, err
}
