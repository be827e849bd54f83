package workernode

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/uidring/uidring/assigner"
)

// ErrTableWentBack says that a table is older than this process knows it: a backup was restored, or a replica promoted that lacks
// the last changes. Worker ids and windows that it forgot may be given out twice, to any process, until an operator has
// repaired it; the message names the table, the row, what it was and is, and where the statements are. An error that wraps it
// wraps assigner.ErrClaimLost as well.
var ErrTableWentBack = errors.New("workernode: the table went back to an older state")

// memory is what one Leased knows of the rows of its claims, beyond the claims' ends. A table cannot tell that it went back; whoever
// has seen it later can.
type memory struct {
	mu   sync.Mutex
	rows map[int64]row // by worker id, as a claim last left it
	gap  int64         // unix milliseconds by the database's clock: windows that the table forgot may reach to here; 0: it forgot nothing
}

// note keeps a row that a claim here made or owns.
func (m *memory) note(r row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = map[int64]row{}
	}
	m.rows[r.worker] = r
}

// lower takes note that the claim on row r stamps no further than end.
func (m *memory) lower(r row, end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.rows[r.worker]
	if ok && known.generation == r.generation && known.nonce == r.nonce {
		known.until = min(known.until, end)
		m.rows[r.worker] = known
	}
}

// row returns what is known of a worker id's row.
func (m *memory) row(worker int64) (r row, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok = m.rows[worker]
	return r, ok
}

// forgot takes note that windows up to end may not be in the table any more.
func (m *memory) forgot(end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gap = max(m.gap, end)
}

// begin returns where a window may begin at the earliest, whatever the table says.
func (m *memory) begin() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gap
}

// behind reports whether r, as it was found, cannot have come after known, a row that was there: generations grow, each is
// written once, and no owner leaves an end that is earlier than the one it found.
func (r row) behind(known row) bool {
	return r.generation < known.generation || r.generation == known.generation && r.nonce != known.nonce || r.until < known.until
}

// mend repairs what of a table that went back concerns this process: it writes the known end of the window into the row that was found,
// or a row that has it where there is none, so that the next owner begins there. The row belongs to nobody then, for whoever
// had it in the meantime may have stamped what this process did, and had better not go on. It returns what is there when it is
// done. errLate means that the row is not what was found, as when it was read from a replica that lags.
func (t table) mend(ctx context.Context, found *row, known row) (row, error) {
	mended := row{worker: known.worker, generation: known.generation + 1, nonce: newNonce(), until: known.until}
	if found == nil {
		err := t.add(ctx, mended)
		if err != nil && t.dialect.classify(err) == duplicate {
			err = errLate
		}
		return mended, err
	}
	if found.until >= known.until {
		return *found, nil
	}
	mended.generation = max(found.generation, known.generation) + 1 // an overflow is harmless: the nonce tells rows apart as well
	ok, err := t.swap(ctx, *found, mended)
	if err == nil && !ok {
		err = errLate
	}
	return mended, err
}

// wentBack mends a row that is behind the known one and takes note of what else may be forgotten. back is what to tell once err is
// nil; it is nil after errLate, which proves nothing.
func (t table) wentBack(ctx context.Context, found *row, known row, now, window int64) (back, err error) {
	there, err := t.mend(ctx, found, known)
	if errors.Is(err, errLate) {
		return nil, err
	}
	is, why := "without a row", "a backup was restored, or a replica promoted that lacks the last changes"
	if found != nil {
		is = fmt.Sprintf("at generation %d of owner %q with UNTIL_MS %d", found.generation, found.owner, found.until)
	}
	if found != nil && found.generation > known.generation {
		why += ", and claimed from since, or a copy of this process gave the worker id back"
	}
	// The documented statements leave a row that nobody owns and whose end is beyond everybody's. Where there is none, no claim
	// made here begins before the ends of the windows that may be forgotten. They end as this one does, or a whole Window
	// from the present: nobody extends what the table has forgotten.
	if found == nil || found.owner != "" || found.until < known.until {
		t.memory.forgot(max(known.until, now+window))
	}
	if err == nil {
		t.memory.note(there)
	}
	return fmt.Errorf("%w: %w: %s has worker %d in namespace %q %s, it was at generation %d with UNTIL_MS %d: %s; other worker ids and "+
		"windows may be given out twice; before more processes connect, run the statements under \"A restored backup\" in docs/reliability.md (%s)",
		assigner.ErrClaimLost, ErrTableWentBack, leaseTable, known.worker, t.namespace, is, known.generation, known.until, why, t.place), err
}
