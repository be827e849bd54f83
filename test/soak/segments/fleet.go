package segments

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/uidring/uidring/test/internal/soak"
)

// fleet has the processes that run at one time, and records what they report. Its methods are safe
// for concurrent use.
type fleet struct {
	*soak.Fleet
	ledgers  []*soak.Bits // by kind
	expanded atomic.Int64 // tickets from here on come from three servers, those below from two

	mu     sync.Mutex // guards the fields below
	places places     // of the next process
	falls  int64      // how many ids were not above the one before
	fall   string     // the first of them
}

// newFleet starts n processes.
func newFleet(n int, p places) (*fleet, error) {
	f := &fleet{places: p}
	f.expanded.Store(math.MaxInt64)
	var names []string
	for _, k := range kinds {
		f.ledgers = append(f.ledgers, &soak.Bits{})
		names = append(names, "id of "+k.name)
	}
	f.Fleet = soak.NewFleet(n, names...)
	return f, f.Fill(f.start)
}

// start starts a process in an empty slot.
func (f *fleet) start(slot int) error {
	f.mu.Lock()
	places := f.places
	f.mu.Unlock()
	return f.Start(slot, func(int) soak.Job {
		return soak.Job{Name: "segments", Worker: "segments", Work: places, Frame: f.reader()}
	})
}

// reader returns the function that takes what a process writes.
func (f *fleet) reader() func(*soak.Process, soak.Frame) error {
	last := make([]map[int64]int64, len(kinds)) // see ids
	for i := range last {
		last[i] = map[int64]int64{}
	}
	return func(p *soak.Process, frame soak.Frame) error {
		kind := int(frame.Kind &^ failed)
		switch {
		case kind >= len(kinds):
			return fmt.Errorf("frame of kind %d", kind)
		case frame.Kind&failed != 0:
			f.failed(kind, string(frame.Payload))
		case len(frame.Payload) > 0:
			f.ids(kind, soak.IDs[int64](frame), last[kind])
			p.Arrived(kind)
		}
		return nil
	}
}

// ids records ids of kind k that a process handed out one after the other. They have to increase,
// those of several servers server by server. last has the newest id of each server.
func (f *fleet) ids(k int, ids []int64, last map[int64]int64) {
	f.ledgers[k].Add(ids)
	for _, id := range ids {
		server := int64(0)
		switch {
		case kinds[k].origin && id < f.expanded.Load():
			server = id % 2
		case kinds[k].origin:
			server = 2 + id%3
		}
		if before, ok := last[server]; ok && id <= before {
			f.mu.Lock()
			if f.falls++; f.falls == 1 {
				f.fall = fmt.Sprintf("%s: %d after %d", kinds[k].name, id, before)
			}
			f.mu.Unlock()
		}
		last[server] = id
	}
}

// failed counts an error that a caller got. All errors must not happen, except for those of a
// database that is away or busy.
func (f *fleet) failed(k int, text string) {
	text = kinds[k].name + ": " + text
	if n := f.Failed(text); n == 1 && !strings.Contains(text, "away or busy") {
		f.Failure(errors.New(text))
	}
}

// twice returns how many ids were repeated.
func (f *fleet) twice() (n int64) {
	for _, l := range f.ledgers {
		_, twice, _, _ := l.Sum()
		n += twice
	}
	return n
}

// noticed reports whether anything was found that must not happen.
func (f *fleet) noticed() bool {
	return f.Bad() || f.twice() > 0
}
