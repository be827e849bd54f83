package e2e

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// idLog keeps the ids of several processes, in the order in which each made them. It is safe for
// concurrent use.
type idLog struct {
	mu  sync.Mutex
	ids map[int][]int64 // by process id; guarded by mu
}

// readAll adds a process's ids of 8 bytes each until r ends.
func (l *idLog) readAll(process int, r io.Reader) error {
	for buf := make([]byte, 8); ; {
		if _, err := io.ReadFull(r, buf); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		l.mu.Lock()
		l.ids[process] = append(l.ids[process], int64(binary.LittleEndian.Uint64(buf)))
		l.mu.Unlock()
	}
}

// count returns how many ids of a process have arrived.
func (l *idLog) count(p *process) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ids[p.cmd.Process.Pid])
}

// TestErasProcesses: eight processes make ids on MariaDB while an era begins that one of them does
// not know. That process stops where the era begins and says why, the others go on, and no id comes
// twice.
func TestErasProcesses(t *testing.T) {
	t.Parallel()
	dsn := dialects[0].migrated(t)
	log := &idLog{ids: map[int][]int64{}}
	await := func(p *process, n int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); log.count(p) < n; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.stdin.Close()
				t.Fatalf("%d ids in a minute: %v", log.count(p), p.stderr)
			}
		}
	}
	first := bitsalloc.Layout{TimeBits: 28, WorkerBits: 16, SeqBits: 11}
	j := job{DSN: dsn, Window: time.Second, MaxLead: time.Second, Eras: first.String()}
	unaware := j.start(t, log)
	await(unaware, 1)

	from := time.Now().Add(6 * time.Second)
	second := bitsalloc.Layout{TimeBits: 36, WorkerBits: 16, SeqBits: 11}
	eras, err := bitsalloc.NewEras(first, bitsalloc.Era{From: from, Layout: second})
	if err != nil {
		t.Fatal(err)
	}
	j.Eras = eras.String()
	var aware []*process
	for range 7 {
		aware = append(aware, j.start(t, log))
	}
	for _, p := range aware {
		await(p, 1)
	}
	time.Sleep(time.Until(from.Add(4 * time.Second)))
	for _, p := range append(aware, unaware) {
		p.stdin.Close()
	}
	if err := unaware.wait(); err == nil || !strings.Contains(err.Error(), "superseded by a layout") {
		t.Errorf("the process that does not know the era ended with %v, want ErrSuperseded", err)
	}
	for _, p := range aware {
		if err := p.wait(); err != nil {
			t.Error(err)
		}
	}
	border := eras.All()[1].First(from)
	seen := map[int64]bool{}
	for pid, ids := range log.ids {
		before, after := 0, 0
		last := int64(-1)
		for _, id := range ids {
			if seen[id] || id <= last {
				t.Fatalf("process %d made %d after %d, want larger ones that no process made before: %v",
					pid, id, last, seen[id])
			}
			seen[id], last = true, id
			if id < border {
				before++
			} else {
				after++
			}
		}
		if unaware := pid == unaware.cmd.Process.Pid; before == 0 || (after == 0) != unaware {
			t.Errorf("process %d made %d ids before the era and %d in it; does not know it: %v",
				pid, before, after, unaware)
		}
	}
	t.Logf("%d ids", len(seen))
}
