package workernode

import (
	"context"
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

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

// behind reports whether r, as it was found, cannot have come after known, a row that was there:
// fencing tokens grow, each is written once, and no owner leaves an end that is earlier than the
// one it found.
//
//	known        found            behind
//	token 7      token 6          yes: the table forgot a change
//	token 7      token 7, other   yes: it forgot one, and was changed anew
//	until 100    until 90         yes: an owner in between left an end that it must not leave
//	token 7      token 9          no: changes that came after
func (r row) behind(known row) bool {
	return r.token < known.token || r.token == known.token &&
		r.nonce != known.nonce || r.until < known.until
}

// repair writes what this process knows into a row of a table that went back: the known end of the
// window, so that the next owner begins there. Where there is no row it inserts one. The row has no
// owner then: an owner in between may have stamped what this process did, and must not go on. It
// returns what is there when it is done. ErrChanged means that the row is not what was found, as
// when it was read from a replica that lags.
//
// The INSERT and the UPDATE are those of every other change, a compare-and-set each, so a repair
// overwrites nothing that another process has written since the look. It lowers no end: a row whose
// end is at or beyond the known one stays as it is.
func (t table) repair(ctx context.Context, q *sqldb.Conn, found *row,
	known row) (there row, err error) {
	there = row{worker: known.worker, token: known.token + 1, nonce: newNonce(),
		until: known.until}
	if found == nil {
		err = t.add(ctx, q, there)
		if err != nil && t.Failure(err) == sqldb.Duplicate {
			err = sqldb.ErrChanged
		}
		return there, err
	}
	if found.until >= known.until {
		return *found, nil
	}
	// an overflow is harmless: the nonce tells rows apart as well
	there.token = max(found.token, known.token) + 1
	ok, err := t.swap(ctx, q, *found, there)
	if err == nil && !ok {
		err = sqldb.ErrChanged
	}
	return there, err
}

// wentBack takes note of what the table may have forgotten, and returns the error that says so.
// there is the row as it was repaired, or nil if it could not be. now and window are in
// milliseconds. The error wraps assigner.ErrClaimLost, so that a generator takes another worker id,
// and assigner.ErrWentBack for the operator.
func (t table) wentBack(found *row, known row, there *row, now, window int64) error {
	is := "without a row"
	why := "a backup was restored, or a replica promoted that lacks the last changes"
	if found != nil {
		is = fmt.Sprintf("at fencing token %d of owner %q with UNTIL_MS %d",
			found.token, found.owner, found.until)
	}
	if found != nil && found.token > known.token {
		why += ", and claimed from since, or a copy of this process gave the worker id back"
	}
	// The documented statements leave a row without an owner and with an end that is beyond all
	// windows. Where there is none, no claim made here begins before the ends of the windows that
	// may be forgotten. They end as this one does, or a whole Window from the database's current
	// time: a window that the table has forgotten is not extended.
	if found == nil || found.owner != "" || found.until < known.until {
		t.memory.forgot(max(known.until, now+window))
	}
	// From here on the repaired row is what is expected of the table, so the next Assign does not
	// report it again.
	if there != nil {
		t.memory.note(*there)
	}
	return fmt.Errorf("%w: %w: %s has worker %d in namespace %q %s, it was at fencing token %d "+
		"with UNTIL_MS %d: %s; other worker ids and "+
		"windows may be given out twice; before more processes connect, run \"uid workers "+
		"restored\", see \"A restored backup\" in docs/reliability.md (%s)",
		assigner.ErrClaimLost, assigner.ErrWentBack, leaseTable, known.worker, t.namespace, is,
		known.token, known.until, why, t.Place())
}
