// Package rivals keeps the designs that uid.Cached was chosen over, so that the choice can be
// measured again. Each is as simple as it can honestly be: it makes unique, time-ordered ids of the
// default layout, follows the clock and stops when it is closed, and it leaves out claims, bounds
// on lead and lag, policies and statistics. Each comment says which of uid.Cached's promises the
// design gives up.
//
// They are not for use.
package rivals

import (
	"sync"
	"time"
)

// A position is a tick and a sequence number in one counter, so that "the next id" is "one more":
//
//	 63        41 40                       13 12         0
//	+------------+---------------------------+------------+
//	|     0      |     tick (28 bits)        | seq (13)   |
//	+------------+---------------------------+------------+
//
// id opens the gap for the worker id between the two.
const (
	seqBits    = 13
	workerBits = 22
	perTick    = 1 << seqBits
	seqMask    = perTick - 1

	runLength = 256 // of those rivals that hand out runs: the same for all of them
)

// composer turns positions into ids of one worker.
type composer struct{ worker int64 }

func newComposer(worker int64) composer { return composer{worker << seqBits} }

func (c composer) id(pos int64) int64 {
	return pos>>seqBits<<(seqBits+workerBits) | c.worker | pos&seqMask
}

// present returns the first position of the current tick.
func present() int64 {
	return (time.Now().Unix() - epoch().Unix()) << seqBits
}

// follower runs a function on a schedule, on a goroutine of its own, until it is closed.
type follower struct {
	once sync.Once
	stop chan struct{}
	done sync.WaitGroup
}

// follow calls step every interval, and at once when wake is written to. wake may be nil.
func (f *follower) follow(every time.Duration, wake <-chan struct{}, step func()) {
	f.stop = make(chan struct{})
	f.done.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-f.stop:
				return
			case <-t.C:
			case <-wake:
			}
			step()
		}
	})
}

// Close ends the goroutine and waits for it.
func (f *follower) Close() {
	f.once.Do(func() { close(f.stop) })
	f.done.Wait()
}

// epoch returns the default layout's.
func epoch() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }
