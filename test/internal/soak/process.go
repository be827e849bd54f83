package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Job is what a worker process is to do.
type Job struct {
	Name   string   // in errors
	Worker string   // the name that Worker was called with
	Work   any      // what Worker's function gets, as JSON
	Env    []string // added to the environment

	// Frame takes what the process writes, on one goroutine.
	Frame func(p *Process, f Frame) error
}

// Process is a worker process as its parent sees it. Its methods are safe for concurrent use.
type Process struct {
	Job
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr tail
	ended  chan struct{} // closed when the process has ended and all that it wrote was read
	err    error         // how it ended; set before ended is closed

	mu     sync.Mutex // guards the fields below
	last   time.Time  // when the newest ids arrived, or the last pause ended; zero: none yet
	frames []int64    // how many frames with ids have arrived, by kind
	quiet  bool       // the process is paused, or was told to end
}

// start starts this program as a worker process, which has ids of so many kinds. It ends when this
// one does, because its standard input does.
func start(j Job, kinds int) (*Process, error) {
	text, err := json.Marshal(j.Work)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{Job: j, cmd: exec.CommandContext(context.Background(), self),
		ended: make(chan struct{}), frames: make([]int64, kinds)}
	p.cmd.Env = append(append(os.Environ(), jobEnv+j.Worker+"="+string(text)), j.Env...)
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = dieWithParent()
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		// The kernel sends dieWithParent's signal when the thread that forks ends, not when the
		// process does.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			readErr := read(stdout, func(f Frame) error { return j.Frame(p, f) })
			p.err = errors.Join(readErr, p.cmd.Wait())
			close(p.ended)
		}
	}()
	return p, <-started
}

// Arrived records that ids of a kind have arrived. It returns the time since the ids before them,
// or 0 if the process was paused meanwhile.
func (p *Process) Arrived(kind int) (gap time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames[kind]++
	now := time.Now()
	if !p.last.IsZero() && !p.quiet {
		gap = now.Sub(p.last)
	}
	p.last = now
	return gap
}

// pause stops the process (SIGSTOP).
func (p *Process) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
	p.signal(syscall.SIGSTOP)
}

// resume lets the process go on (SIGCONT).
func (p *Process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal(syscall.SIGCONT)
	p.quiet, p.last = false, time.Now()
}

// count returns how many frames with ids of each kind have arrived. running is false if no ids are
// expected.
func (p *Process) count() (frames []int64, running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int64(nil), p.frames...), !p.quiet
}

// Kill ends the process with SIGKILL and returns when all that it wrote is counted. It is an error
// if the process has ended by itself.
func (p *Process) Kill() error {
	err := p.gone()
	p.over()
	p.signal(syscall.SIGKILL)
	<-p.ended
	return err
}

// gone returns an error if the process has ended, which nobody has told it to.
func (p *Process) gone() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s: %w: %s", p.Name, errors.Join(errEnded, p.err), &p.stderr)
	default:
		return nil
	}
}

// Stop tells the process to give back what it has and to end, also if it is paused. It returns the
// error that the process ends with.
func (p *Process) Stop() error {
	p.over()
	p.stdin.Close()
	p.signal(syscall.SIGCONT)
	select {
	case <-p.ended:
		if p.err != nil {
			return fmt.Errorf("worker process (%s): %w: %s", p.Name, p.err, &p.stderr)
		}
		return nil
	case <-time.After(time.Minute):
		p.signal(syscall.SIGQUIT) // its stacks say where it hangs
		select {
		case <-p.ended:
		case <-time.After(10 * time.Second):
			p.signal(syscall.SIGKILL)
			<-p.ended
		}
		return fmt.Errorf("worker process (%s) did not end within a minute: %s", p.Name, &p.stderr)
	}
}

// signal sends sig. It ignores that a process has ended by itself: gone reports that.
func (p *Process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// over records that the process was told to end.
func (p *Process) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 1<<16 {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-1<<15:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
