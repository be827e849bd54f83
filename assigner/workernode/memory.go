package workernode

import "sync"

// memory is what one Leased knows of the rows of its claims, beyond the claims' ends. A table
// cannot tell that it went back; a process that has seen a later state can. Its methods are safe
// for concurrent use, and hold mu for a look or a change of the map only.
//
// It lives as long as the Assigner and is not stored: a process that starts again knows nothing,
// which is why an operator has to repair the tables before any process connects. It keeps one row
// for each worker id that the Assigner ever had, which is one for most processes.
type memory struct {
	mu    sync.Mutex
	rows  map[int64]row // guarded by mu: by worker id, as a claim last left it
	gap   int64         // guarded by mu: end of the forgotten windows, Unix milliseconds; 0: none
	floor int64         // guarded by mu: where Restore has new windows begin, as it was last read
	spare spare         // guarded by mu
}

// spare is a new worker id that an Assign took from WORKER_NODE and did not come to use, because
// its ctx ended or because a row became free in between. A key costs the layout one worker id for
// good, so an Assign that is repeated for hours must not take a new one each time.
type spare struct {
	worker int64 // none, or 0 at first, if there is none
	nonce  int64 // of the row that may have been inserted for it
	node   node  // whose row in WORKER_NODE it is
}

// keepSpare keeps a new worker id for the next Assign. There is one place for it: of two Assigns
// that end at the same time, one key is used up without a use.
func (m *memory) keepSpare(s spare) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spare = s
}

// takeSpare returns the worker id that was kept, if it is not above last, and forgets it, so that
// no two Assigns have it. The zero worker id stands for none too, because keys of WORKER_NODE begin
// at 1.
func (m *memory) takeSpare(last int64) (s spare, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spare.worker <= 0 || m.spare.worker > last {
		return spare{}, false
	}
	s, m.spare = m.spare, spare{}
	return s, true
}

// note keeps a row that a claim here made or owns. It is called after the row is committed: what is
// noted has to be in the table, or a table that is all right would seem to have gone back.
func (m *memory) note(r row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = map[int64]row{}
	}
	m.rows[r.worker] = r
}

// lower takes note that the claim on row r stamps no further than end, because it is about to write
// end into the row. Without it a Release whose answer is lost would look like a table that went
// back. It is called before the UPDATE is sent, and only ever lowers: an extension that has no
// answer may not have been made, so its end is not expected of the table.
func (m *memory) lower(r row, end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.rows[r.worker]
	if ok && known.token == r.token && known.nonce == r.nonce {
		known.until = min(known.until, end)
		m.rows[r.worker] = known
	}
}

// row returns what is known of a worker id's row, and whether anything is.
func (m *memory) row(worker int64) (r row, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok = m.rows[worker]
	return r, ok
}

// knows reports whether a claim here ever had a row.
func (m *memory) knows() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.rows) > 0
}

// saw takes note of the floor, which a claim has read after its row was committed.
func (m *memory) saw(floor int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.floor = max(m.floor, floor)
}

// restored reports whether a floor is newer than all that claims here have read. Restore has run
// since then, so a row from before that is missing is one that the table had forgotten by then.
func (m *memory) restored(floor int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return floor > m.floor
}

// forgot takes note that windows up to end, in Unix milliseconds, may not be in the table any more.
func (m *memory) forgot(end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gap = max(m.gap, end)
}

// begin returns where a window may begin at the earliest, whatever the table says: Unix
// milliseconds, 0 for anywhere.
func (m *memory) begin() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gap
}
