package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// hook is around the calls of a store, which it may use itself. run makes the call, and what around
// returns is the call's error.
type hook struct {
	around func(op, name string, run func() error) error // nil: none
}

func (h *hook) through(op, name string, run func() error) error {
	if h.around == nil {
		return run()
	}
	return h.around(op, name, run)
}

// ambush is a memory with a hook around its calls.
type ambush struct {
	*memory
	hook
}

func newAmbush() *ambush { return &ambush{memory: &memory{}} }

func (a *ambush) List(ctx context.Context) (all []lease.Entry, err error) {
	err = a.through("list", "", func() (err error) { all, err = a.memory.List(ctx); return err })
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (a *ambush) Get(ctx context.Context, name string) (e lease.Entry, err error) {
	err = a.through("get", name, func() (err error) { e, err = a.memory.Get(ctx, name); return err })
	if err != nil {
		return lease.Entry{}, err
	}
	return e, nil
}

func (a *ambush) Put(ctx context.Context, old lease.Entry, value []byte) (e lease.Entry, err error) {
	err = a.through("put", old.Name, func() (err error) { e, err = a.memory.Put(ctx, old, value); return err })
	if err != nil {
		return lease.Entry{}, err
	}
	return e, nil
}

// awaited is a hook of once.
type awaited struct {
	text string // which one it is
	met  *bool
}

var hooks struct {
	sync.Mutex
	all []awaited
}

// TestMain fails where no call has met a hook of once: its test does not test what it says.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 { // else a test may have ended early
		for _, h := range hooks.all {
			if !*h.met {
				fmt.Fprintln(os.Stderr, "no call has met the hook of "+h.text)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// once has f take the place of the n-th call from now on that is op of name. There has to be one: see
// TestMain.
func (h *hook) once(n int, op, name string, f func(run func() error) error) (met *bool) {
	met = h.perhaps(n, op, name, f)
	_, file, line, _ := runtime.Caller(1)
	text := fmt.Sprintf("%s:%d, %s %s, call %d", filepath.Base(file), line, op, name, n)
	hooks.Lock()
	defer hooks.Unlock()
	hooks.all = append(hooks.all, awaited{text, met})
	return met
}

// perhaps is once for a call that there may not be.
func (h *hook) perhaps(n int, op, name string, f func(run func() error) error) (met *bool) {
	before := h.around
	met = new(bool)
	h.around = func(o, called string, run func() error) error {
		if o == op && called == name && !*met {
			if n--; n == 0 {
				*met = true
				return f(run)
			}
		}
		if before != nil {
			return before(o, called, run)
		}
		return run()
	}
	return met
}

// timed is an ambush that tells the time, which is the bubble's.
type timed struct{ *ambush }

func (s timed) Now(ctx context.Context) (now time.Time, err error) {
	err = s.through("now", "", func() error { now = time.Now(); return ctx.Err() })
	return now, err
}

// The answers of calls.
func answered(run func() error) error { return run() }
func notDone(func() error) error      { return errLost }
func done(run func() error) error     { return errors.Join(run(), errLost) }
func refused(func() error) error      { return lease.ErrRefused }
func conflict(func() error) error     { return lease.ErrConflict }
func doubled(run func() error) error  { return errors.Join(run(), lease.ErrConflict) }

// record is what is stored under a name.
type record struct {
	FencingToken int64      `json:"gen"`
	Owner        string     `json:"owner"`
	Layout       string     `json:"layout"`
	Until        int64      `json:"until_ms"`
	Used         [][2]int64 `json:"used"`
	Universe     string     `json:"universe"`
	Changes      int64      `json:"changes"`
}

// recordOf reads an entry. It fails the test if there is none.
func recordOf(tb testing.TB, m *memory, name string) record {
	tb.Helper()
	var r record
	m.set(func() {
		if err := json.Unmarshal(m.entries[name].Value, &r); err != nil {
			tb.Errorf("%s: %v", name, err)
		}
	})
	return r
}

// put stores a text as an operator does.
func put(m *memory, name, text string) {
	if m.entries == nil {
		m.entries = map[string]lease.Entry{}
	}
	m.set(func() { m.entries[name] = lease.Entry{Name: name} })
	m.edit(name, "", text)
}

// remove deletes entries as an operator does.
func remove(m *memory, names ...string) {
	m.set(func() {
		for _, name := range names {
			delete(m.entries, name)
		}
	})
}

// slotOf returns the name of a claim's slot.
func slotOf(c assigner.Claim) string { return lease.SlotPrefix + itoa(c.Worker()) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
