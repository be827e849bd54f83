package segments

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
)

// injector injects faults into a fleet and its servers. Its methods are safe for concurrent use.
type injector struct {
	fleet   *fleet
	servers []server
	tickets []string      // DSNs of all three ticket servers
	command string        // the path of uid
	most    time.Duration // the longest time that a fault lasts

	counts soak.Counts

	expansion sync.Mutex  // held by expand
	joined    atomic.Bool // expand makes one set of all ticket servers
}

// server is a database server and its name in the report.
type server struct {
	name string
	*dbtest.Server
}

// harm injects one fault after the other into the servers until stop is closed. Each fault is over,
// and every process has ids again, before the next one begins.
func (in *injector) harm(r *rand.Rand, stop <-chan struct{}) {
	for soak.Pause(stop, soak.Between(r, 200*time.Millisecond, time.Second)) {
		s, lasts := in.servers[r.IntN(len(in.servers))], soak.Between(r, in.most/20, in.most)
		faults := []struct {
			name        string
			begin, heal func() error
		}{
			{"crash and restart", s.Kill, s.Start},
			{"crash and restart", s.Kill, s.Start},
			{"shutdown and restart", s.Stop, s.Start},
			{"SIGSTOP", s.Pause, s.Resume},
		}
		f := faults[r.IntN(len(faults))]
		name := s.name + ": " + f.name
		err := f.begin()
		if err == nil {
			soak.Pause(stop, lasts)
			err = f.heal()
		}
		if err != nil {
			in.fleet.Failure(fmt.Errorf("%s: %w", name, err))
			return
		}
		in.counts.Add(name)
		in.expand()
		in.fleet.Await(name)
	}
}

// expand makes one set of all ticket servers, if join has begun. It is called again after each
// restart, because servers come back with their old settings.
func (in *injector) expand() {
	if !in.joined.Load() {
		return
	}
	in.expansion.Lock()
	defer in.expansion.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
	defer cancel()
	for {
		cmd := exec.CommandContext(ctx, in.command, "segment", "expand", "--yes")
		cmd.Env = append(os.Environ(), "UID_DSN="+strings.Join(in.tickets, " "))
		out, err := cmd.CombinedOutput()
		if err == nil {
			if bytes.HasPrefix(out, []byte("-- done")) {
				in.counts.Add("ticket servers: a plan carried out, or settings repaired")
			}
			return
		}
		if ctx.Err() != nil {
			in.fleet.Failure(fmt.Errorf("uid segment expand: %w: %s", err, out))
			return
		}
		in.counts.Add("ticket servers: an expansion that ended with an error and was called again")
		time.Sleep(100 * time.Millisecond)
	}
}

// join adds the third ticket server, while another server crashes. Processes that start afterwards
// use p.
func (in *injector) join(p places, r *rand.Rand) {
	_, _, _, high := in.ledger(tickets).Sum()
	in.fleet.expanded.Store(high + 500_000) // a plan starts 1,000,000 above
	in.joined.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.expand()
	}()
	// Crash one of the first two ticket servers. The other faults may miss this moment.
	s := in.servers[r.IntN(2)]
	time.Sleep(soak.Between(r, 0, 20*time.Millisecond))
	if err := s.Kill(); err != nil {
		in.fleet.Failure(err)
	}
	if err := s.Start(); err != nil {
		in.fleet.Failure(err)
	}
	in.counts.Add(s.name + ": crash and restart while a ticket server joins")
	<-done
	in.expand()
	in.fleet.mu.Lock()
	defer in.fleet.mu.Unlock()
	in.fleet.places = p
}

// ledger returns the ledger of the kind with a name.
func (in *injector) ledger(name string) *soak.Bits {
	for i, k := range kinds {
		if k.name == name {
			return in.fleet.ledgers[i]
		}
	}
	panic("no such kind: " + name)
}

// processes kills, pauses and restarts processes until stop is closed.
func (in *injector) processes(r *rand.Rand, stop <-chan struct{}) {
	in.fleet.Harm(r, stop, in.most, &in.counts, []soak.End{
		{Name: "process: SIGSTOP"},
		{Name: "process: SIGKILL and restart", End: (*soak.Process).Kill},
		{Name: "process: clean restart, ranges given back", End: (*soak.Process).Stop},
	}, in.fleet.start)
}

// rewind sets a counter back, which is a bug that the run must find. It returns when the run has
// noticed it, so that the run does not end earlier, or after soak.Comeback.
func (in *injector) rewind() {
	for _, s := range in.servers {
		if strings.HasPrefix(s.name, "MariaDB 1") {
			_, err := s.TryQuery(database, "UPDATE leaf_alloc SET max_id = 1")
			if err != nil {
				in.fleet.Failure(err)
			}
		}
	}
	for begin := time.Now(); !in.fleet.noticed() && time.Since(begin) < soak.Comeback; {
		time.Sleep(10 * time.Millisecond)
	}
}
