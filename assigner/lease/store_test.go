package lease_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// memory is a Store in memory. Its fault breaks calls, and its entries can be put back.
type memory struct {
	mu      sync.Mutex
	entries map[string]lease.Entry
	version int
	calls   int

	// fault says what becomes of a call: err is its answer, and done says whether a put is carried
	// out nonetheless.
	fault func(op, name string) (done bool, err error)
}

// call counts a call and asks for its fault. The caller holds mu.
func (m *memory) call(ctx context.Context, op, name string) (done bool, err error) {
	m.calls++
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if m.fault == nil {
		return true, nil
	}
	return m.fault(op, name)
}

func (m *memory) List(ctx context.Context) ([]lease.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.call(ctx, "list", ""); err != nil {
		return nil, err
	}
	var all []lease.Entry
	for _, name := range slices.Sorted(maps.Keys(m.entries)) {
		all = append(all, m.entries[name])
	}
	return all, nil
}

func (m *memory) Get(ctx context.Context, name string) (lease.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.call(ctx, "get", name); err != nil {
		return lease.Entry{}, err
	}
	e := m.entries[name]
	e.Name = "" // the caller knows it
	return e, nil
}

func (m *memory) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	done, err := m.call(ctx, "put", old.Name)
	if !done {
		return lease.Entry{}, err
	}
	if m.entries[old.Name].Version != old.Version {
		return lease.Entry{}, lease.ErrConflict
	}
	m.version++
	e := lease.Entry{Name: old.Name, Value: value, Version: strconv.Itoa(m.version)}
	if m.entries == nil {
		m.entries = map[string]lease.Entry{}
	}
	m.entries[old.Name] = e
	e.Name = ""
	return e, err
}

// String says where the entries are.
func (m *memory) String() string { return "the test's memory" }

// set changes m's fields.
func (m *memory) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// edit replaces a part of an entry's value, as an operator does.
func (m *memory) edit(name, old, instead string) {
	m.set(func() {
		e := m.entries[name]
		e.Value = []byte(strings.Replace(string(e.Value), old, instead, 1))
		m.version++
		e.Version = strconv.Itoa(m.version)
		m.entries[name] = e
	})
}

// backup keeps the entries and their versions. restore puts them back.
func (m *memory) backup() (restore func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries, version := maps.Clone(m.entries), m.version
	return func() {
		m.set(func() { m.entries, m.version = maps.Clone(entries), version })
	}
}

// told is a memory that tells the time.
type told struct {
	*memory
	clock *clock
}

func (t told) Now(ctx context.Context) (time.Time, error) { return t.clock.now(), ctx.Err() }

// clock is a clock that steps.
type clock struct {
	mu    sync.Mutex
	shift time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.shift)
}

func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shift += d
}

// errLost stands for an answer that did not arrive.
var errLost = errors.New("the answer is lost")

// losing returns a fault that makes each n-th put fail, by turns before and after it is carried out,
// and of an entry's next eight puts none: Extend and Release try three times only, and other
// processes put the same entry between their tries.
func losing(n int) func(op, name string) (bool, error) {
	puts, well := 0, map[string]int{}
	return func(op, name string) (bool, error) {
		if op != "put" {
			return true, nil
		}
		puts++
		if well[name]--; puts%n != 0 || well[name] >= 0 {
			return true, nil
		}
		well[name] = 8
		return puts/n%2 == 0, fmt.Errorf("%w: %s %s", errLost, op, name)
	}
}
