package lease

import (
	"sync"
	"sync/atomic"
)

// memory is what one Assigner knows of the slots of its claims, also after a claim has ended. A
// store cannot tell that it went back. A process that has seen a later state can.
type memory struct {
	mu   sync.Mutex
	rows map[int64]row // by worker id, as a claim last left it; guarded by mu
	gap  int64         // end of the windows that the store forgot, Unix milliseconds; guarded by mu

	reach int64 // the longest of the headers that were read, milliseconds; guarded by mu

	spare  *spare // nil: there is none; guarded by mu
	sealed bool   // the store was seen sealed; guarded by mu

	listed atomic.Int64 // how long the last List took, nanoseconds
}

func newMemory() *memory { return &memory{rows: map[int64]row{}} }

// spare is a new worker id that an Assign came to and did not use, because its ctx ended or because
// a slot became free meanwhile. The next Assign goes on with it: one that is repeated for hours
// must not use up another worker id each time.
type spare struct {
	number number
	sent   []attempt // changes that may have made its slot
}

// keepSpare keeps a worker id for the next Assign. There is one place for it: of two Assigns that
// end at the same time, one worker id is used up without a use.
func (m *memory) keepSpare(s spare) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spare = &s
}

// takeSpare returns the worker id that was kept, if it is not above last, and forgets it, so that
// no two Assigns have it.
func (m *memory) takeSpare(last int64) (s *spare) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spare != nil && m.spare.number.worker <= last {
		s, m.spare = m.spare, nil
	}
	return s
}

// noteReach keeps the reach of a header if it is the longest so far.
func (m *memory) noteReach(reach int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach = max(m.reach, reach)
}

// longestReach returns the longest reach that was kept.
func (m *memory) longestReach() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reach
}

// note keeps a row that a claim here made or owns.
func (m *memory) note(r row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[r.worker] = r
}

// lower takes note that the claim on row r stamps no further than end, because it is about to write
// end into the slot. Without it a Release whose answer is lost would look like a store that went
// back.
func (m *memory) lower(r row, end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.rows[r.worker]; known.changedBy(r) {
		known.Until = min(known.Until, end)
		m.rows[r.worker] = known
	}
}

// row returns what is known of a worker id's slot.
func (m *memory) row(worker int64) (r row, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok = m.rows[worker]
	return r, ok
}

// empty reports whether nothing is known of any slot.
func (m *memory) empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows) == 0
}

// forgot takes note that windows up to end may not be in the store any more.
func (m *memory) forgot(end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gap = max(m.gap, end)
}

// begin returns where a window may begin at the earliest, whatever the store says.
func (m *memory) begin() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gap
}

// seal takes note that the store was seen sealed: see Move.
func (m *memory) seal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sealed = true
}

// wasSealed reports whether the store was seen sealed.
func (m *memory) wasSealed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sealed
}
