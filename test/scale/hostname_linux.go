package main

import (
	"os"
	"syscall"
)

// ownHostname lets a process have a host name of its own, as a pod does.
func ownHostname() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// setHostname sets the host name of a process that ownHostname was given for.
func setHostname(name string) error { return syscall.Sethostname([]byte(name)) }
