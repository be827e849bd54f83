// Package server keeps processes that serve HTTP running while they are measured, and asks them.
package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/dbtest"
)

// Server is a process that is started again a second after it ended, as under systemd. Its methods
// are safe for concurrent use.
type Server struct {
	Address string

	stop context.CancelFunc
	done sync.WaitGroup

	mu  sync.Mutex // guards cmd
	cmd *exec.Cmd
}

// Start starts a server with this environment and keeps it running until Close or the end of ctx.
// Each "ADDRESS" in its command is one that nothing listens on.
func Start(ctx context.Context, env []string, command ...string) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{Address: l.Addr().String(), stop: stop}
	_ = l.Close()
	s.done.Go(func() {
		for {
			cmd := exec.CommandContext(ctx, command[0])
			for _, arg := range command {
				cmd.Args = append(cmd.Args, strings.ReplaceAll(arg, "ADDRESS", s.Address))
			}
			cmd.Args, cmd.Env, cmd.Stderr = cmd.Args[1:], env, os.Stderr
			s.mu.Lock()
			err := cmd.Start() // which ctx ends
			s.cmd = cmd
			s.mu.Unlock()
			if err == nil {
				_ = cmd.Wait() // it was killed, or its database is away
			}
			if !backoff.Wait(ctx, time.Second) {
				return
			}
		}
	})
	return s, nil
}

// Await waits until the server answers on a path.
func (s *Server) Await(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := Get(ctx, "http://"+s.Address+path)
		if err == nil || !backoff.Wait(ctx, 20*time.Millisecond) {
			return err
		}
	}
}

// Kill kills the process, which then starts again.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
	}
}

// PID returns the process id, 0 before the start.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil || s.cmd.Process == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Close kills the process for good.
func (s *Server) Close() {
	s.stop()
	s.done.Wait()
}

// Get returns what a server answers. A status other than 200 is an error.
func Get(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return text, err
}

// Run runs a command to its end.
func Run(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = env
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, text)
	}
	return nil
}

// MariaDB starts a MariaDB that flushes each commit to the disk, with a database "ids".
func MariaDB() (*dbtest.Server, error) {
	s, err := dbtest.NewMariaDB("--innodb-flush-log-at-trx-commit=1")
	if err != nil {
		return nil, err
	}
	if _, err := s.TryQuery("", "CREATE DATABASE ids"); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Conditions says what is measured on, and how busy it is.
func Conditions(ctx context.Context) string {
	m := result.NewMeta(ctx, "", false)
	return fmt.Sprintf("%d processors, %s, commit %s; load before: %s", m.CPUs, m.GoVersion,
		m.Commit, Load())
}

// Load returns the machine's load averages, where the system has them.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 2 {
		return strings.Join(fields[:3], " ")
	}
	return "not known"
}
