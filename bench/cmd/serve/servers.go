package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

// servers are processes that serve HTTP on loopback, and what they are asked for.
type servers struct {
	uid  string   // the command uid
	env  []string // of every process
	list []contender
	ends []func() // what close calls, the last one first
}

// start starts a server by a command, to which it adds an address, and waits until it answers. Each
// of the paths is a contender.
func (s *servers) start(
	ctx context.Context, name string, paths []string, command ...string,
) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "--addr", address)...)
	cmd.Env, cmd.Stderr = s.env, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.ends = append(s.ends, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // returns that it was killed
	})
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	once := func(n int) (time.Time, bool) { return time.Now(), n == 0 }
	for _, path := range paths {
		c := contender{strings.TrimSuffix(name+" "+path, " /"), path, address, cmd.Process.Pid}
		for _, err := c.connection(ctx, once); err != nil; _, err = c.connection(ctx, once) {
			if !backoff.Wait(ctx, 20*time.Millisecond) {
				return err
			}
		}
		s.list = append(s.list, c)
	}
	return nil
}

// command runs the command uid to its end.
func (s *servers) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.uid, args...)
	cmd.Env = s.env
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", s.uid, args, err, text)
	}
	return nil
}

// close ends everything.
func (s *servers) close() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}
