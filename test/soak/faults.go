package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
)

// injector injects faults into a fleet: one goroutine into the server and the network, and one into
// the processes. Its methods are safe for concurrent use.
type injector struct {
	fleet   *fleet
	command string // uid
	srv     *dbtest.Server
	proxy   *dbtest.Proxy // in front of the server
	front   *dbtest.Proxy // in front of the service; nil: no process uses it
	faults  []fault       // of the server, the service and the network
	most    time.Duration // the longest time that a fault lasts or a process is paused
	counts  soak.Counts

	// For the goroutine of the server's faults.
	random *rand.Rand
	stop   <-chan struct{} // closed when there are to be no more faults
	kept   backup          // the last backup
	had    map[int64]bool  // the worker ids that it may have
	gone   time.Time       // when the store last went back, or an entry was deleted
}

// fault is something that can happen to the server or the network.
type fault struct {
	name string
	harm harm
}

// harm begins a fault and returns heal, which ends it. lasts is the time between the two.
type harm = func(in *injector, lasts time.Duration) (heal func() error, err error)

// unreliable returns the faults of the network in front of the server. Requests that change a
// worker id have text in them.
func unreliable(text string) []fault {
	return faultsOf("network: ", func(in *injector) *dbtest.Proxy { return in.proxy }, text)
}

// unreliableService returns the faults of the network in front of the service.
func unreliableService() []fault {
	return faultsOf("service: ", func(in *injector) *dbtest.Proxy { return in.front },
		"POST /api/worker/extend")
}

// faultsOf returns the faults of a network, which a proxy injects. Their names begin with prefix.
func faultsOf(prefix string, of func(*injector) *dbtest.Proxy, text string) []fault {
	return []fault{
		{prefix + "delay of 300 ms", func(in *injector, _ time.Duration) (func() error, error) {
			of(in).Delay(300 * time.Millisecond)
			return func() error { of(in).Delay(0); return nil }, nil
		}},
		{prefix + "connections refused", network(of, dbtest.Refuse, "")},
		{prefix + "cut before the request", network(of, dbtest.CutBeforeRequest, "")},
		{prefix + "cut after the request", network(of, dbtest.CutAfterRequest, "")},
		{prefix + "cut before the reply", network(of, dbtest.CutBeforeReply, "")},
		{prefix + "black hole", network(of, dbtest.BlackHole, "")},
		{prefix + "answers to changes of leases lost", network(of, dbtest.CutBeforeReply, text)},
		{prefix + "changes of leases arrive late", network(of, dbtest.BlackHole, text)},
	}
}

// outages returns the faults of any server.
func outages() []fault {
	return []fault{
		{"server: SIGKILL and restart", func(in *injector, _ time.Duration) (func() error, error) {
			return in.srv.Start, in.srv.Kill()
		}},
		{"server: shutdown and restart", func(in *injector, _ time.Duration) (func() error, error) {
			return in.srv.Start, in.srv.Stop()
		}},
		{"server: backed up", func(in *injector, _ time.Duration) (func() error, error) {
			return func() error { return nil }, in.keep()
		}},
		{"server: SIGSTOP", func(in *injector, _ time.Duration) (func() error, error) {
			return in.srv.Resume, in.srv.Pause()
		}},
	}
}

// network returns the harm of a fault of a proxy, for every request, or if text is not empty for
// those that have text in them.
func network(of func(*injector) *dbtest.Proxy, f dbtest.Fault, text string) harm {
	return func(in *injector, _ time.Duration) (func() error, error) {
		proxy := of(in)
		if text == "" {
			proxy.Set(f)
		} else {
			proxy.SetMatching(f, func(b []byte) bool {
				return strings.Contains(string(b), text)
			})
		}
		return func() error { proxy.Set(dbtest.None); return nil }, nil
	}
}

// server injects one fault after the other into the store, its server and the network until stop is
// closed. Each fault is over, and every generator is back, before the next one begins. A round has
// each fault of the network and the server once, in random order, and those of always in between,
// where the store can be restored.
func (in *injector) server() {
	if f, ok := exposes[in.fleet.broken]; ok {
		for in.inject(f) {
		}
		return
	}
	every := always()
	for n := 0; ; {
		for _, i := range in.random.Perm(len(in.faults)) {
			if n%len(every) == 0 {
				in.random.Shuffle(len(every), func(i, j int) {
					every[i], every[j] = every[j], every[i]
				})
			}
			if in.fleet.authority.backup != nil && !in.inject(every[n%len(every)]) {
				return
			}
			if !in.inject(in.faults[i]) {
				return
			}
			n++
		}
	}
}

// inject injects a fault, and returns when every generator is back. It returns false after a
// failure and when stop is closed.
func (in *injector) inject(f fault) bool {
	if !soak.Pause(in.stop, soak.Between(in.random, 200*time.Millisecond, time.Second)) {
		return false
	}
	lasts := soak.Between(in.random, in.most/20, in.most)
	in.fleet.during(f.name)
	heal, err := f.harm(in, lasts)
	if err == nil {
		soak.Pause(in.stop, lasts)
	}
	if heal != nil { // after an error too: no process stays paused
		err = errors.Join(err, heal())
	}
	if err != nil {
		in.fleet.Failure(fmt.Errorf("%s: %w", f.name, err))
		return false
	}
	in.counts.Add(f.name)
	in.fleet.Await(f.name)
	in.fleet.during(noFault)
	return true
}

// processes kills, pauses and restarts processes until stop is closed. A process that was killed or
// ended comes back at once or within two windows, so that others may find its worker id free
// meanwhile.
func (in *injector) processes(r *rand.Rand, stop <-chan struct{}) {
	away := 2 * in.fleet.lease
	stopped := soak.End{Name: "process: SIGSTOP"}
	killed := soak.End{Name: "process: SIGKILL and restart", End: (*soak.Process).Kill, Away: away}
	clean := soak.End{Name: "process: clean restart", End: (*soak.Process).Stop, Away: away}
	in.fleet.Harm(r, stop, in.most, &in.counts,
		[]soak.End{stopped, stopped, killed, killed, killed, killed, clean, clean}, in.fleet.start)
}

// cleanup stands in for a test where dbtest asks for one. It has only the methods that NewProxy
// calls.
type cleanup struct {
	testing.TB
	funcs []func()
}

func (c *cleanup) Helper()                   {}
func (c *cleanup) Cleanup(f func())          { c.funcs = append(c.funcs, f) }
func (c *cleanup) Fatalf(s string, a ...any) { panic(fmt.Sprintf(s, a...)) }

// run calls the functions that were given to Cleanup.
func (c *cleanup) run() {
	for _, f := range c.funcs {
		f()
	}
}
