package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment/sqlsource"
)

// injector injects faults into a fleet and its servers. Its methods are safe for concurrent use.
type injector struct {
	fleet   *fleet
	servers []server
	tickets []*gorm.DB    // on all three ticket servers
	most    time.Duration // the longest time that a fault lasts

	expansion sync.Mutex // held by expand

	mu     sync.Mutex
	counts map[string]int64 // how often each fault was injected; guarded by mu
	joined bool             // expand makes one set of all ticket servers; guarded by mu
}

// server is a database server and its name in the report.
type server struct {
	name string
	*dbtest.Server
}

// count counts something that was done.
func (in *injector) count(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.counts[name]++
}

// harm injects one fault after the other into the servers until stop is closed. Each fault is over,
// and every process has ids again, before the next one begins.
func (in *injector) harm(r *rand.Rand, stop <-chan struct{}) {
	for pause(stop, between(r, 200*time.Millisecond, time.Second)) {
		s, lasts := in.servers[r.IntN(len(in.servers))], between(r, in.most/20, in.most)
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
			pause(stop, lasts)
			err = f.heal()
		}
		if err != nil {
			in.fleet.failure(fmt.Errorf("%s: %w", name, err))
			return
		}
		in.count(name)
		in.expand()
		in.fleet.await(name)
	}
}

// expand makes one set of all ticket servers, if join has begun. It is called again after each
// restart, because servers come back with their old settings.
func (in *injector) expand() {
	in.mu.Lock()
	joined := in.joined
	in.mu.Unlock()
	if !joined {
		return
	}
	in.expansion.Lock()
	defer in.expansion.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), comeback)
	defer cancel()
	for {
		plans, err := sqlsource.ExpandTickets(ctx, in.tickets, nil)
		if err == nil {
			for _, p := range plans {
				if len(p.Announce)+len(p.Change) > 0 {
					in.count("ticket servers: a plan carried out, or settings repaired")
					break
				}
			}
			return
		}
		if ctx.Err() != nil {
			in.fleet.failure(fmt.Errorf("ExpandTickets: %w", err))
			return
		}
		in.count("ticket servers: an expansion that ended with an error and was called again")
		time.Sleep(100 * time.Millisecond)
	}
}

// join adds the third ticket server, while another server crashes. Processes that start afterwards
// use p.
func (in *injector) join(p places, r *rand.Rand) {
	_, _, _, high := in.ledger(tickets).sum()
	in.fleet.expanded.Store(high + 500_000) // a plan starts 1,000,000 above
	in.mu.Lock()
	in.joined = true
	in.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		in.expand()
	}()
	// Crash one of the first two ticket servers. The other faults may miss this moment.
	s := in.servers[r.IntN(2)]
	time.Sleep(between(r, 0, 20*time.Millisecond))
	if err := s.Kill(); err != nil {
		in.fleet.failure(err)
	}
	if err := s.Start(); err != nil {
		in.fleet.failure(err)
	}
	in.count(s.name + ": crash and restart while a ticket server joins")
	<-done
	in.expand()
	in.fleet.mu.Lock()
	defer in.fleet.mu.Unlock()
	in.fleet.places = p
}

// ledger returns the ledger of the kind with a name.
func (in *injector) ledger(name string) *ledger {
	for i, k := range kinds {
		if k.name == name {
			return in.fleet.ledgers[i]
		}
	}
	panic("no such kind: " + name)
}

// processes kills, pauses and restarts processes until stop is closed. Paused processes go on then.
func (in *injector) processes(r *rand.Rand, stop <-chan struct{}) {
	var later sync.WaitGroup
	defer later.Wait()
	for pause(stop, between(r, 200*time.Millisecond, 1500*time.Millisecond)) {
		slot, lasts, what := r.IntN(len(in.fleet.slots)), between(r, in.most/20, in.most), r.IntN(6)
		p := in.fleet.take(slot)
		if p == nil {
			continue
		}
		switch {
		case what < 2:
			in.count("process: SIGSTOP")
			p.hush(true)
			p.signal(syscall.SIGSTOP)
			in.fleet.put(slot, p)
			later.Go(func() {
				pause(stop, lasts)
				p.signal(syscall.SIGCONT)
				p.hush(false)
			})
		case what < 4:
			in.count("process: SIGKILL and restart")
			p.kill()
			if err := in.fleet.start(slot); err != nil {
				in.fleet.failure(err)
			}
		default:
			in.count("process: clean restart, ranges given back")
			later.Go(func() {
				if err := p.stop(); err != nil {
					in.fleet.failure(err)
				}
				if err := in.fleet.start(slot); err != nil {
					in.fleet.failure(err)
				}
			})
		}
	}
}

// rewind sets a counter back, which is a bug that the run must find. It returns when the run has
// noticed it, so that the run does not end earlier, or after comeback.
func (in *injector) rewind() {
	for _, s := range in.servers {
		if strings.HasPrefix(s.name, "MariaDB 1") {
			_, err := s.TryQuery(database, "UPDATE leaf_alloc SET max_id = 1")
			if err != nil {
				in.fleet.failure(err)
			}
		}
	}
	for begin := time.Now(); !in.fleet.noticed() && time.Since(begin) < comeback; {
		time.Sleep(10 * time.Millisecond)
	}
}

// between returns a random duration from least to most.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// pause waits for d, and reports whether d has passed before stop was closed.
func pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}
