package lease

import (
	"time"

	"github.com/uidring/uidring/assigner"
)

// The names of entries.
const (
	HeaderName = headerName
	SlotPrefix = slotPrefix
	NotePrefix = notePrefix
)

// NewToken draws a token.
func NewToken() string { return newToken() }

// Clone returns a copy of a claim, as a copy of its process's memory would hold it.
func Clone(c assigner.Claim) assigner.Claim {
	old := c.(*claim)
	copied := &claim{space: old.space, worker: old.worker, window: old.window, from: old.from,
		row: old.row, header: old.header}
	copied.until.Store(old.until.Load())
	return copied
}

// SetClock replaces the process's clock. It must be called before the first Assign.
func (a *Assigner) SetClock(now func() time.Time) { a.space.local = now }

// Memory is what one Assigner knows of the slots of its claims.
type Memory struct{ m *memory }

// NewMemory returns a memory of nothing.
func NewMemory() Memory { return Memory{newMemory()} }

// MemoryToken is the token of the slots that Note keeps.
const MemoryToken = "token"

func memoryRow(worker int64, token string, until int64) row {
	return row{worker: worker, FencingToken: 1, Token: token, Until: until}
}

func (m *Memory) Note(worker, until int64)  { m.m.note(memoryRow(worker, MemoryToken, until)) }
func (m *Memory) Lower(worker, until int64) { m.LowerOf(worker, MemoryToken, until) }

func (m *Memory) LowerOf(worker int64, token string, until int64) {
	m.m.lower(memoryRow(worker, token, 0), until)
}

// Until returns the end that is known of a worker id's slot, 0 if nothing is.
func (m *Memory) Until(worker int64) int64 { r, _ := m.m.row(worker); return r.Until }

func (m *Memory) Forgot(end int64) { m.m.forgot(end) }
func (m *Memory) Begin() int64     { return m.m.begin() }

// Lock locks what the methods of a memory read and change.
func (m *Memory) Lock() (unlock func()) { m.m.mu.Lock(); return m.m.mu.Unlock }

// Forgot tells an Assigner that windows up to end may not be in the store any more.
func (a *Assigner) Forgot(end int64) { a.space.memory.forgot(end) }

// Methods returns all methods of a memory.
func (m *Memory) Methods() map[string]func() {
	return map[string]func(){
		"keepSpare": func() { m.m.keepSpare(spare{}) },
		"takeSpare": func() { m.m.takeSpare(0) },
		"noteReach": func() { m.m.noteReach(0) }, "longestReach": func() { m.m.longestReach() },
		"note":      func() { m.m.note(row{}) },
		"lower":     func() { m.m.lower(row{}, 0) },
		"row":       func() { m.m.row(0) },
		"empty":     func() { m.m.empty() },
		"forgot":    func() { m.m.forgot(0) },
		"begin":     func() { m.m.begin() },
		"seal":      m.m.seal,
		"wasSealed": func() { m.m.wasSealed() },
	}
}
