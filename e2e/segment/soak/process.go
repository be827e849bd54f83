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
	"sync"
	"syscall"
	"time"
)

// process is a worker process as its parent sees it. It ends when the parent does, because its
// standard input does.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr tail
	ended  chan struct{} // closed when the process has ended and all that it wrote was read
	err    error         // how it ended; set before ended is closed

	mu     sync.Mutex // guards the fields below
	frames []int64    // how many frames with ids have arrived, by kind
	quiet  bool       // the process is paused, or was told to end
}

// sink takes what a process writes.
type sink interface {
	ids(kind int, ids []int64, last map[int64]int64)
	failed(kind int, text string)
}

// startProcess starts this program as a worker process.
func startProcess(p places, s sink) (*process, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &process{cmd: exec.CommandContext(context.Background(), self), ended: make(chan struct{}),
		frames: make([]int64, len(kinds))}
	w.cmd.Env = append(os.Environ(), jobEnv+"="+string(text))
	w.cmd.Stderr = &w.stderr
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		readErr := w.read(stdout, s)
		w.err = errors.Join(readErr, w.cmd.Wait())
		close(w.ended)
	}()
	return w, nil
}

// read passes what the process writes to s, until its end. The last frame of a process that was
// killed may be cut. The whole ids in it count, because they were handed out.
func (w *process) read(r io.Reader, s sink) error {
	br := bufio.NewReaderSize(r, 1<<16)
	last := make([]map[int64]int64, len(kinds)) // see fleet.ids
	for i := range last {
		last[i] = map[int64]int64{}
	}
	var head [frameHead]byte
	for {
		if _, err := io.ReadFull(br, head[:]); err != nil {
			return ended(err)
		}
		n, kind := int(binary.LittleEndian.Uint32(head[1:])), int(head[0]&^failed)
		if n > 1<<16 || kind >= len(kinds) {
			return fmt.Errorf("frame of %d bytes and kind %d", n, kind)
		}
		buf := make([]byte, n)
		n, err := io.ReadFull(br, buf)
		switch {
		case head[0]&failed != 0:
			s.failed(kind, string(buf[:n]))
		case n > 0:
			var ids []int64
			for i := 0; i+8 <= n; i += 8 {
				ids = append(ids, int64(binary.LittleEndian.Uint64(buf[i:])))
			}
			s.ids(kind, ids, last[kind])
			w.mu.Lock()
			w.frames[kind]++
			w.mu.Unlock()
		}
		if err != nil && n < len(buf) {
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

// count returns how many frames with ids of each kind have arrived. It returns false if no ids are
// expected.
func (w *process) count() ([]int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int64(nil), w.frames...), !w.quiet
}

// hush records that no ids are expected, or with false that they are.
func (w *process) hush(quiet bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet = quiet
}

// signal sends sig. It ignores that a process has ended by itself: await reports that.
func (w *process) signal(sig syscall.Signal) { _ = w.cmd.Process.Signal(sig) }

// kill ends the process with SIGKILL and returns when all that it wrote is counted.
func (w *process) kill() {
	w.hush(true)
	w.signal(syscall.SIGKILL)
	<-w.ended
}

// stop tells the process to give its ranges back and to end.
func (w *process) stop() error {
	w.hush(true)
	w.stdin.Close()
	select {
	case <-w.ended:
		if w.err != nil {
			return fmt.Errorf("worker process: %w: %s", w.err, &w.stderr)
		}
		return nil
	case <-time.After(time.Minute):
		w.signal(syscall.SIGQUIT) // its stacks say where it hangs
		<-w.ended
		return fmt.Errorf("worker process did not end within a minute: %s", &w.stderr)
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.buf = append(t.buf, b...); len(t.buf) > 1<<16 {
		t.buf = append([]byte(nil), t.buf[len(t.buf)-1<<15:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
