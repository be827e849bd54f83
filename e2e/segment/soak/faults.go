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

// injector does harm to a fleet and its servers.
type injector struct {
	fleet   *fleet
	servers []server
	tickets []*gorm.DB // of the servers that are to be one set
	most    time.Duration

	expansion sync.Mutex // held by expand

	mu     sync.Mutex
	counts map[string]int64
	joined bool // the third ticket server is to be part of the set
}

type server struct {
	name string
	*dbtest.Server
}

// count notes that something was done.
func (in *injector) count(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.counts[name]++
}

// harm does one fault after the other to the servers until stop is closed. Each is over, and every
// process is back, before the next begins.
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

// expand makes one set of all ticket servers, if that has been begun. It is called again after each
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

// join adds the third ticket server, while a server crashes.
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
	// The faults that happen anyway may be elsewhere. The server's data stay as they are.
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

// ledger returns the ledger of a kind.
func (in *injector) ledger(name string) *ledger {
	for i, k := range kinds {
		if k.name == name {
			return in.fleet.ledgers[i]
		}
	}
	panic("no such kind: " + name)
}

// processes kills, pauses and restarts processes until stop is closed; all that are paused then go
// on.
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

// rewind is a bug that a run must find: a counter is set back. It returns when that was noticed, so
// that a run does not end before, or when nobody has noticed for too long.
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

// between returns a time from least to most, at random.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// pause waits for d, and reports false if stop was closed before.
func pause(stop <-chan struct{}, d time.Duration) bool {
	select {
	case <-stop:
		return false
	case <-time.After(d):
		return true
	}
}
