package e2e

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
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	soak "github.com/uidring/uidring/test/soak/ledger"
	"github.com/uidring/uidring/uid"
)

// workerEnv is the environment variable that makes the test binary a worker process. Its value is the
// job, as JSON.
const workerEnv = "UIDRING_E2E_WORKER"

// job is what a worker process does: it connects, claims a worker id, writes ids to its standard
// output, 8 bytes each, and gives the worker id back.
type job struct {
	DSN     string
	Window  time.Duration          // of the lease; 0: a disposable worker id
	Env     *assigner.LocalOptions // not nil: no database, the worker id is in numberEnv
	SeqBits int                    // of the layout 28-16-SeqBits; 0: the default layout
	Eras    string                 // the text of a bitsalloc.Eras, in place of the layout; empty: none
	MaxLead time.Duration
	Count   int64 // how many ids; 0: until the standard input ends
}

// numberEnv is the environment variable with the worker id of a job that has Env set.
const numberEnv = "UIDRING_E2E_NUMBER"

// batch is how many ids a worker writes at once.
const batch = 8192

// worker is the main function of a worker process. It returns the exit status.
func worker(text string) int {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := j.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// run does the job.
func (j job) run() (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if j.Count == 0 {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	a, err := j.assigner()
	if err != nil {
		return err
	}
	g, err := uid.NewCached(ctx, a, j.options())
	if err != nil {
		return err
	}
	ids, buf := make([]uid.ID, batch), make([]byte, 0, 8*batch)
	for left := j.Count; j.Count == 0 || left > 0; {
		want := batch
		if j.Count != 0 {
			want = int(min(batch, left))
		}
		n, fillErr := g.Fill(ctx, ids[:want])
		buf = buf[:0]
		for _, id := range ids[:n] {
			buf = binary.LittleEndian.AppendUint64(buf, uint64(id))
		}
		if _, err := os.Stdout.Write(buf); err != nil {
			return err
		}
		left -= int64(n)
		if errors.Is(fillErr, assigner.ErrSuperseded) {
			return errors.Join(fillErr, g.Close())
		}
		if fillErr != nil && ctx.Err() == nil && j.Window != 0 {
			// The claim expired or was lost, as after a pause. The generator recovers by itself.
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if fillErr != nil {
			return fillErr
		}
	}
	return g.Close()
}

// assigner returns the job's Assigner.
func (j job) assigner() (assigner.Assigner, error) {
	if j.Env != nil {
		return assigner.Env(numberEnv, j.Env), nil
	}
	db, err := openAny(j.DSN)
	if err != nil {
		return nil, err
	}
	if j.Window != 0 {
		return workernode.Leased(db, &workernode.LeasedOptions{Window: j.Window}), nil
	}
	return workernode.Disposable(db, nil), nil
}

// options returns the options of the job's generator.
func (j job) options() *uid.Options {
	o := &uid.Options{MaxLead: j.MaxLead}
	if j.SeqBits != 0 {
		o.Layout = bitsalloc.Layout{TimeBits: 28, WorkerBits: 16, SeqBits: j.SeqBits}
	}
	if eras, err := bitsalloc.ParseEras(j.Eras); err == nil {
		o.Layout = eras.All()[0].Layout()
		for _, a := range eras.All()[1:] {
			o.Eras = append(o.Eras, bitsalloc.Era{From: a.Layout().Epoch, Layout: a.Layout()})
		}
	}
	return o
}

// process is a worker process, as the test that started it sees it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *tailWriter
	read   chan error // gets the result of readAll when the process's output has ended
}

// start starts a worker process whose ids go into l.
func (j job) start(t *testing.T, l interface {
	readAll(process int, r io.Reader) error
}) *process {
	t.Helper()
	return j.startAs(t, os.Args[0], l)
}

// startAs is start for the test binary of another version.
func (j job) startAs(t *testing.T, exe string, l interface {
	readAll(process int, r io.Reader) error
}) *process {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe), stderr: &tailWriter{}, read: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), workerEnv+"="+string(text), "GOMAXPROCS=2")
	p.cmd.Stderr = p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.read <- l.readAll(p.cmd.Process.Pid, stdout) }()
	return p
}

// wait waits until the process has ended and returns its error, with the end of its standard error.
func (p *process) wait() error {
	readErr := <-p.read // before Wait, which closes the pipe
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("worker process: %w: %s", err, p.stderr)
	}
	return readErr
}

// kill ends the process with SIGKILL and returns when all that it wrote is counted.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.read
	p.cmd.Wait()
}

// ledger has a bit for every id that arrives, so that it finds each that is repeated.
type ledger struct{ *soak.Ledger }

// newLedger returns an empty ledger for ids of a job's layout.
func newLedger(t *testing.T, j job) ledger {
	t.Helper()
	alloc, err := bitsalloc.New(j.options().Layout)
	if err != nil {
		t.Fatal(err)
	}
	return ledger{soak.New(alloc)}
}

// readAll adds a process's ids of 8 bytes each until r ends. The last one may be incomplete if the
// process was killed.
func (l ledger) readAll(process int, r io.Reader) error {
	br := bufio.NewReaderSize(r, 8*batch)
	ids := make([]uid.ID, 0, batch)
	buf := make([]byte, 8*batch)
	for {
		n, err := io.ReadAtLeast(br, buf, 8)
		if err == nil && n%8 != 0 {
			m, restErr := io.ReadFull(br, buf[n:n+8-n%8])
			n, err = n+m, restErr
		}
		ids = ids[:0]
		for i := 0; i+8 <= n; i += 8 {
			ids = append(ids, uid.ID(binary.LittleEndian.Uint64(buf[i:])))
		}
		l.Add(process, ids)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// check fails the test if an id was repeated. It returns how many ids arrived, and of how many worker
// ids.
func (l ledger) check(t *testing.T) (total int64, workers int) {
	t.Helper()
	s := l.Sum()
	if s.Duplicates != 0 || s.Foreign != 0 {
		t.Errorf("%d of %d ids were repeated, such as %v; %d are below 0",
			s.Duplicates, s.IDs, s.First, s.Foreign)
	}
	return s.IDs, s.Workers
}

// shared returns how many worker ids were used by more than one process.
func (l ledger) shared() int { return l.Sum().Shared }

// from returns how many ids of a process have arrived.
func (l ledger) from(p *process) int64 { return l.From(p.cmd.Process.Pid) }

// count returns how many ids have arrived.
func (l ledger) count() int64 { return l.Sum().IDs }

// tailWriter keeps the end of what is written to it.
type tailWriter struct {
	mu  sync.Mutex
	buf []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf, p...)
	if len(w.buf) > 4096 {
		w.buf = slices.Clone(w.buf[len(w.buf)-2048:])
	}
	return len(p), nil
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.buf)
}
