package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// injector does harm to a fleet: one goroutine to the server and the network, one to the processes.
type injector struct {
	fleet *fleet
	srv   *dbtest.Server
	proxy *dbtest.Proxy
	most  time.Duration // that a fault lasts, or a process is paused

	mu     sync.Mutex
	counts map[string]int64
}

// fault is something that can happen to the server or the network. harm begins it and returns what
// ends it.
type fault struct {
	name string
	harm func(in *injector, lasts time.Duration) (heal func() error, err error)
}

// unreliable are the faults of any network. text marks the requests that change a worker id.
func unreliable(text string) []fault {
	return []fault{
		{"network: delay of 300 ms", func(in *injector, _ time.Duration) (func() error, error) {
			in.proxy.Delay(300 * time.Millisecond)
			return func() error { in.proxy.Delay(0); return nil }, nil
		}},
		{"network: connections refused", network(dbtest.Refuse, "")},
		{"network: cut before the request", network(dbtest.CutBeforeRequest, "")},
		{"network: cut after the request", network(dbtest.CutAfterRequest, "")},
		{"network: cut before the reply", network(dbtest.CutBeforeReply, "")},
		{"network: black hole", network(dbtest.BlackHole, "")},
		{"network: answers to changes of leases lost", network(dbtest.CutBeforeReply, text)},
		{"network: changes of leases arrive late", network(dbtest.BlackHole, text)},
	}
}

// outages are the faults of any server.
func outages() []fault {
	return []fault{
		{"server: SIGKILL and restart", func(in *injector, _ time.Duration) (func() error, error) {
			return in.srv.Start, in.srv.Kill()
		}},
		{"server: shutdown and restart", func(in *injector, _ time.Duration) (func() error, error) {
			return in.srv.Start, in.srv.Stop()
		}},
		{"server: SIGSTOP", func(in *injector, _ time.Duration) (func() error, error) {
			return in.srv.Resume, in.srv.Pause()
		}},
	}
}

// network returns a fault of the proxy's, for every request or for those that have a text in them.
func network(f dbtest.Fault, text string) func(*injector, time.Duration) (func() error, error) {
	return func(in *injector, _ time.Duration) (func() error, error) {
		if text == "" {
			in.proxy.Set(f)
		} else {
			in.proxy.SetMatching(f, func(b []byte) bool { return strings.Contains(string(b), text) })
		}
		return func() error { in.proxy.Set(dbtest.None); return nil }, nil
	}
}

// count notes that a fault was done.
func (in *injector) count(name string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.counts[name]++
}

// server does one fault after the other to the server and the network until stop is closed; each is
// over, and every generator is back, before the next begins. The faults come in an order that is
// shuffled again after each round.
func (in *injector) server(r *rand.Rand, stop <-chan struct{}) {
	for {
		for _, i := range r.Perm(len(in.fleet.authority.faults)) {
			if !pause(stop, between(r, 200*time.Millisecond, time.Second)) {
				return
			}
			f, lasts := in.fleet.authority.faults[i], between(r, in.most/20, in.most)
			in.fleet.during(f.name)
			heal, err := f.harm(in, lasts)
			if err == nil {
				pause(stop, lasts)
				err = heal()
			}
			if err != nil {
				in.fleet.failure(fmt.Errorf("%s: %w", f.name, err))
				return
			}
			in.count(f.name)
			in.fleet.await(f.name)
			in.fleet.during(noFault)
		}
	}
}

// processes kills, pauses and restarts processes until stop is closed; all that are paused then go
// on. A process that was killed or ended comes back at once or within two windows, so that others
// find its worker id free.
func (in *injector) processes(r *rand.Rand, stop <-chan struct{}) {
	var later sync.WaitGroup
	defer later.Wait()
	for pause(stop, between(r, 200*time.Millisecond, 1500*time.Millisecond)) {
		slot, lasts := in.fleet.any(r), between(r, in.most/20, in.most)
		what, off, away := r.IntN(8), time.Duration(0), time.Duration(0)
		if r.IntN(3) > 0 {
			away = between(r, 0, 2*in.fleet.lease)
		}
		p := in.fleet.take(slot)
		if p == nil {
			continue
		}
		switch what {
		case 0, 1:
			in.count("process: SIGSTOP")
			p.pause()
			in.fleet.put(slot, p)
			later.Go(func() {
				pause(stop, lasts)
				p.resume()
			})
			continue
		case 2, 3, 4:
			in.count("process: SIGKILL and restart")
			p.kill()
		case 5, 6:
			in.count("process: clean restart")
			if err := p.stop(); err != nil {
				in.fleet.failure(err)
			}
		default:
			if !in.fleet.authority.tells {
				in.count("process: SIGKILL and restart")
				p.kill()
				break
			}
			in.count("process: SIGKILL and restart beside a database clock that is wrong")
			p.kill()
			off = between(r, -6*time.Hour, 6*time.Hour)
		}
		later.Go(func() {
			pause(stop, away)
			if err := in.fleet.start(slot, off); err != nil {
				in.fleet.failure(err)
			}
		})
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

// cleanup stands in for a test where dbtest asks for one. Only what NewProxy calls is there.
type cleanup struct {
	testing.TB
	funcs []func()
}

func (c *cleanup) Helper()                   {}
func (c *cleanup) Cleanup(f func())          { c.funcs = append(c.funcs, f) }
func (c *cleanup) Fatalf(s string, a ...any) { panic(fmt.Sprintf(s, a...)) }

func (c *cleanup) run() {
	for _, f := range c.funcs {
		f()
	}
}
