package e2e

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/workertable"
)

// TestKilledProcess: a process that is killed while it makes ids, and started again, repeats none of
// them, on every dialect.
func TestKilledProcess(t *testing.T) {
	onEach(t, func(t *testing.T, d dialect) {
		j := job{DSN: d.migrated(t)}
		l := newLedger(t, j)
		const restarts = 3
		for range restarts {
			before := l.count()
			p := j.start(t, l)
			waitFor(t, "ids of the new process", func() bool { return l.count() > before+3*batch })
			p.kill()
		}
		if total, workers := l.check(t); workers != restarts {
			t.Errorf("%d ids of %d worker ids, want a new worker id for each of %d starts",
				total, workers, restarts)
		}
	})
}

// TestPausedProcesses: processes are paused until others have their worker ids, and then run next to
// them. They may finish their own windows and must not stamp in those of the others. They go on by
// themselves with other worker ids.
func TestPausedProcesses(t *testing.T) {
	t.Parallel()
	const processes = 3
	j := job{DSN: dialects[0].migrated(t), Window: time.Second, SeqBits: 16, MaxLead: time.Second}
	store := dialects[0].in(j.DSN, workertable.DefaultNamespace).open(t, lease.Options{})
	l := newLedger(t, j)
	var old, young []*process
	for range processes {
		old = append(old, j.start(t, l))
	}
	for _, p := range old {
		waitFor(t, "ids of every process", func() bool { return l.from(p) > 0 })
	}
	for _, p := range old {
		p.cmd.Process.Signal(syscall.SIGSTOP)
	}
	waitFor(t, "end of the windows", func() bool {
		slots, err := store.Slots(t.Context())
		return err == nil && !slices.ContainsFunc(slots, func(s lease.Slot) bool { return s.Left > 0 })
	})
	for range processes {
		young = append(young, j.start(t, l))
	}
	for _, p := range young {
		waitFor(t, "ids of every new process", func() bool { return l.from(p) > 0 })
	}
	if got := l.shared(); got != processes {
		t.Errorf("%d worker ids went from the old processes to the new ones, want %d", got, processes)
	}
	for _, p := range old {
		p.cmd.Process.Signal(syscall.SIGCONT)
	}
	// Wait for as many ids as fill several ticks, at 1<<16 ids a tick and a tick a second.
	before := map[*process]int64{}
	for _, p := range slices.Concat(old, young) {
		before[p] = l.from(p)
	}
	for p, n := range before {
		waitFor(t, "ids of old and new at the same time", func() bool { return l.from(p) > n+3<<16 })
	}
	for _, p := range slices.Concat(old, young) {
		p.stdin.Close()
		if err := p.wait(); err != nil {
			t.Error(err)
		}
	}
	l.check(t)
}

// TestLeasedChaos: at random, processes with short leases are killed, or paused for longer than their
// window. Their worker ids go to others meanwhile, and no id is repeated.
func TestLeasedChaos(t *testing.T) {
	t.Parallel()
	const processes = 4
	j := job{DSN: dialects[0].migrated(t), Window: time.Second, SeqBits: 16, MaxLead: 2 * time.Second}
	l := newLedger(t, j)
	running := make([]*process, processes)
	for i := range running {
		running[i] = j.start(t, l)
	}
	waitFor(t, "first ids", func() bool { return l.count() > 0 })
	paused := make([]bool, processes)
	var extras []*process
	for round := range 12 {
		time.Sleep(time.Duration(200+rand.IntN(300)) * time.Millisecond)
		i := rand.IntN(processes)
		switch {
		case paused[i]:
			running[i].cmd.Process.Signal(syscall.SIGCONT)
			paused[i] = false
		case round%3 == 0:
			running[i].kill()
			running[i] = j.start(t, l)
		default:
			running[i].cmd.Process.Signal(syscall.SIGSTOP)
			paused[i] = true
			if round%2 == 0 { // a new process starts while the owner of a worker id is paused
				extras = append(extras, j.start(t, l))
			}
		}
	}
	for _, p := range extras {
		p.kill()
	}
	for i, p := range running {
		if paused[i] {
			p.cmd.Process.Signal(syscall.SIGCONT)
		}
		waitFor(t, "ids of every process", func() bool { return l.from(p) > 0 })
	}
	// The test shows nothing unless a worker id was used by several processes.
	store := dialects[0].in(j.DSN, workertable.DefaultNamespace).open(t, lease.Options{})
	for try := 0; l.shared() == 0; try++ {
		if try == 5 {
			t.Fatal("no worker id was used again")
		}
		waitFor(t, "free worker id", func() bool {
			slots, err := store.Slots(t.Context())
			return err == nil && slices.ContainsFunc(slots, func(s lease.Slot) bool { return s.Left <= 0 })
		})
		p := j.start(t, l)
		running = append(running, p)
		waitFor(t, "ids of one more process", func() bool { return l.from(p) > 0 })
	}
	for _, p := range running {
		p.stdin.Close()
		if err := p.wait(); err != nil {
			t.Error(err)
		}
	}
	total, workers := l.check(t)
	t.Logf("%d ids of %d worker ids, %d of them used by several processes", total, workers, l.shared())
}

// waitFor waits until done returns true, and fails the test if that takes longer than a minute.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within a minute", what)
		}
	}
}
