package main

import (
	"bufio"
	"context"
	"encoding/binary"
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

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/uid"
)

// process is a worker process as its parent sees it. Its methods are safe for concurrent use.
type process struct {
	job    job
	serial int  // number among all processes that were started
	ahead  bool // its window may begin hours from now
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr tail
	guard  guard         // owned by read
	ended  chan struct{} // closed when the process has ended and all that it wrote was read
	err    error         // how it ended; set before ended is closed

	mu      sync.Mutex // guards the fields below
	last    time.Time  // when the newest ids arrived, or the last pause ended; zero: none yet
	frames  int64      // how many frames with ids have arrived
	expects bool       // false when the process was told to end
	paused  bool
}

// sink takes what a process writes.
type sink interface {
	ids(p *process, ids []uid.ID, gap time.Duration)
	granted(p *process, w assignertest.Window)
	failed(kind string)
}

// startProcess starts this program as a worker process. number is its worker id if j is Numbered.
func startProcess(j job, number, serial int, s sink) (*process, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{job: j, serial: serial, cmd: exec.CommandContext(context.Background(), self),
		ended: make(chan struct{}), expects: true}
	p.cmd.Env = append(os.Environ(), jobEnv+"="+string(text), fmt.Sprint(numberEnv, "=", number),
		"GOMAXPROCS=2")
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
			readErr := p.read(stdout, s)
			p.err = errors.Join(readErr, p.cmd.Wait())
			close(p.ended)
		}
	}()
	return p, <-started
}

// read passes what the process writes to s, until its end. The last frame of a process that was
// killed may be cut. The whole ids in it count, because they were handed out.
func (p *process) read(r io.Reader, s sink) error {
	br := bufio.NewReaderSize(r, 1<<16)
	var head [frameHead]byte
	var buf []byte
	var ids []uid.ID
	for {
		if _, err := io.ReadFull(br, head[:]); err != nil {
			return ended(err)
		}
		n := int(binary.LittleEndian.Uint32(head[1:]))
		if n > 1<<16 {
			return fmt.Errorf("frame of %d bytes, want at most %d", n, 1<<16)
		}
		buf = append(buf[:0], make([]byte, n)...)
		n, err := io.ReadFull(br, buf)
		switch head[0] {
		case frameIDs:
			ids = ids[:0]
			for i := 0; i+8 <= n; i += 8 {
				ids = append(ids, uid.ID(binary.LittleEndian.Uint64(buf[i:])))
			}
			s.ids(p, ids, p.arrived())
		case frameWindow:
			var w assignertest.Window
			if err == nil {
				if err := json.Unmarshal(buf, &w); err != nil {
					return fmt.Errorf("window %q: %w", buf, err)
				}
				s.granted(p, w)
			}
		case frameError:
			if err == nil {
				s.failed(string(buf))
			}
		default:
			return fmt.Errorf("frame of kind %q", head[0])
		}
		if err != nil {
			return ended(err)
		}
	}
}

// ended returns nil if err is just the end of what a process wrote, else err.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// arrived records that ids have arrived. It returns the time since the ids before them, or 0 if the
// process was paused meanwhile.
func (p *process) arrived() (gap time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames++
	now := time.Now()
	if !p.last.IsZero() && !p.paused {
		gap = now.Sub(p.last)
	}
	p.last = now
	return gap
}

// pause stops the process (SIGSTOP).
func (p *process) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	p.signal(syscall.SIGSTOP)
}

// resume lets the process go on (SIGCONT).
func (p *process) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal(syscall.SIGCONT)
	p.paused, p.last = false, time.Now()
}

// count returns how many frames with ids have arrived. running is false if the process is paused or
// was told to end.
func (p *process) count() (n int64, running bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frames, p.expects && !p.paused
}

// kill ends the process with SIGKILL and returns when all that it wrote is counted.
func (p *process) kill() {
	p.over()
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// stop tells the process to close its generator, and returns the error that it ends with.
func (p *process) stop() error {
	p.over()
	p.stdin.Close()
	select {
	case <-p.ended:
		if p.err != nil {
			return fmt.Errorf("worker process (%s): %w: %s", p.job.Kind, p.err, &p.stderr)
		}
		return nil
	case <-time.After(time.Minute):
		p.signal(syscall.SIGQUIT) // its stacks say where it hangs
		<-p.ended
		return fmt.Errorf("worker process (%s) did not end within a minute: %s",
			p.job.Kind, &p.stderr)
	}
}

// signal sends sig. It ignores that a process has ended by itself: await reports that.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// over records that the process was told to end.
func (p *process) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expects = false
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
