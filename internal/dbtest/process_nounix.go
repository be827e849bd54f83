//go:build !unix

package dbtest

import (
	"errors"
	"os/exec"
)

func pause(*process) error  { return errors.ErrUnsupported }
func resume(*process) error { return errors.ErrUnsupported }

func unprivileged(*exec.Cmd) error { return nil }
func giveAway(string) error        { return nil }
