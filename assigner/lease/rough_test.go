package lease_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
	"github.com/uidring/uidring/internal/winlog"
)

// rough is a memory whose calls take up to 40 minutes, and whose answers get lost. Puts come twice, or late,
// but not after the store has gone back.
type rough struct {
	*memory
	r       *rand.Rand
	prompt  bool // no creation of a slot comes late
	end     time.Time
	back    int      // how often the store went back; guarded by the memory's mu
	history []string // of entries; guarded by mu
}

func (s *rough) over() bool { return time.Now().After(s.end) }

// below returns a random number.
func (s *rough) below(n int) (v int) {
	s.set(func() { v = s.r.IntN(n) })
	return v
}

// lag takes time, seldom a lot.
func (s *rough) lag() {
	switch n := s.below(100); {
	case s.over():
	case n < 2:
		time.Sleep(time.Duration(s.below(2400)) * time.Second)
	case n < 30:
		time.Sleep(time.Duration(s.below(4000)) * time.Millisecond)
	}
}

// lost reports whether an answer gets lost.
func (s *rough) lost() bool { return !s.over() && s.below(20) == 0 }

func (s *rough) note(format string, args ...any) {
	s.set(func() {
		s.history = append(s.history, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	})
}

func (s *rough) List(ctx context.Context) ([]lease.Entry, error) {
	s.lag()
	all, err := s.memory.List(context.WithoutCancel(ctx))
	if s.lag(); s.lost() {
		return nil, errLost
	}
	return all, err
}

func (s *rough) Get(ctx context.Context, name string) (lease.Entry, error) {
	s.lag()
	e, err := s.memory.Get(context.WithoutCancel(ctx), name)
	if s.lag(); s.lost() {
		return lease.Entry{}, errLost
	}
	return e, err
}

func (s *rough) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	ctx = context.WithoutCancel(ctx)
	put := func(how string) (lease.Entry, error) {
		e, err := s.memory.Put(ctx, old, value)
		s.note("%s %s %v %s %v", how, old.Name, old.Version != "", value, err)
		return e, err
	}
	prompt := s.prompt && old.Version == "" && strings.HasPrefix(old.Name, lease.SlotPrefix)
	if !prompt {
		s.lag()
	}
	switch n := s.below(100); {
	case s.over():
	case n < 8:
		return lease.Entry{}, errLost
	case n < 16:
		_, _ = put("unanswered")
		s.lag()
		return lease.Entry{}, errLost
	case n < 26 && !prompt:
		after := time.Duration(s.below(5000)) * time.Millisecond
		if s.below(2) == 0 {
			after = time.Duration(s.below(1800)) * time.Second
		}
		var before int
		s.set(func() { before = s.back })
		time.AfterFunc(after, func() {
			var now int
			if s.set(func() { now = s.back }); now == before {
				_, _ = put("late")
			}
		})
		return lease.Entry{}, errLost
	case n < 29:
		_, _ = put("twice")
		return lease.Entry{}, lease.ErrConflict
	}
	e, err := put("put")
	s.lag()
	return e, err
}

const processes = 5 // at a time

// roughApart is a rough whose List leaves the notes out.
type roughApart struct{ *rough }

func (s roughApart) Fresh() {}

func (s roughApart) List(ctx context.Context) ([]lease.Entry, error) {
	all, err := s.rough.List(ctx)
	return slices.DeleteFunc(all, func(e lease.Entry) bool { return strings.HasPrefix(e.Name, lease.NotePrefix) }), err
}

func (s roughApart) Notes(ctx context.Context) (ids []int64, err error) {
	all, err := s.rough.List(ctx)
	for _, e := range all {
		if id, ok := storekind.WorkerOf(e.Name, lease.NotePrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// live is a process that claims and extends windows until the end. It passes the gate while it claims.
func (s *rough) live(ctx context.Context, a assigner.Assigner, gate chan bool, highest *atomic.Int64) {
	for range 1 + s.below(6) {
		within, cancel := context.WithTimeout(ctx, time.Duration(1+s.below(600))*time.Second)
		gate <- true
		c, err := a.Assign(within, 2000)
		if err == nil {
			highest.Store(max(highest.Load(), c.Worker()))
		}
		<-gate
		cancel()
		if err != nil {
			time.Sleep(time.Duration(s.below(1500)) * time.Second)
			continue
		}
		for range s.below(4) {
			time.Sleep(time.Duration(s.below(600)) * time.Second)
			_, _ = c.Extend(ctx, until(c).Add(10*time.Minute))
		}
		if s.below(2) == 0 {
			_ = c.Release(ctx, until(c).Add(-time.Second))
		}
	}
}

// goBack puts the store back to what it was up to an hour ago, and restores it.
func (s *rough) goBack(t *testing.T, gate chan bool, highest *atomic.Int64) {
	time.Sleep(time.Duration(s.below(3600)) * time.Second)
	if !s.has(lease.HeaderName) {
		return
	}
	back := s.backup()
	time.Sleep(time.Duration(s.below(3600)) * time.Second)
	for range processes { // none of them claims meanwhile
		gate <- true
		defer func() { <-gate }()
	}
	var version int
	s.set(func() { version = s.version })
	back()
	s.set(func() { s.back++; s.version = version + 1000 })
	s.note("went back, highest %d", highest.Load())
	err := newAssigner(t, s.memory, nil).Restore(t.Context(), highest.Load(), 25*time.Hour, moveOne)
	if err != nil {
		t.Error(err)
	}
}

// remove deletes a slot as an operator does.
func (s *rough) remove() {
	time.Sleep(time.Duration(s.below(600)) * time.Second)
	s.set(func() {
		var slots []string
		for name := range s.entries {
			if strings.HasPrefix(name, lease.SlotPrefix) {
				slots = append(slots, name)
			}
		}
		if slices.Sort(slots); len(slots) > 0 {
			name := slots[s.r.IntN(len(slots))]
			delete(s.entries, name)
			s.history = append(s.history, time.Now().Format("15:04:05.000 ")+"deleted "+name)
		}
	})
}

// TestRough: no windows overlap on a store that loses and delays what it is asked, which goes back to older
// states and is restored, be it that slots are deleted by hand, whose creations do not come late, or that
// clocks are an hour off.
func TestRough(t *testing.T) {
	t.Parallel()
	seeds := uint64(400)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			s := &rough{memory: &memory{}, r: rand.New(rand.NewPCG(seed, 7)), prompt: seed%2 == 0,
				end: time.Now().Add(8 * time.Hour)}
			store := lease.Store(s)
			if seed%4 < 2 {
				store = roughApart{s}
			}
			var log winlog.Log
			gate := make(chan bool, processes)
			var highest atomic.Int64
			var wg sync.WaitGroup
			for range processes {
				wg.Go(func() {
					for !s.over() {
						a := newAssigner(t, store, nil)
						if off := time.Duration(s.below(7200)-3600) * time.Second; !s.prompt {
							a.SetClock(func() time.Time { return time.Now().Add(off) })
						}
						s.live(t.Context(), log.Watch(a.BindLayout(moveOne)), gate, &highest)
					}
				})
			}
			wg.Go(func() {
				for !s.over() {
					s.goBack(t, gate, &highest)
				}
			})
			if s.prompt {
				wg.Go(func() {
					for !s.over() {
						s.remove()
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Hour) // for what comes late
			if err := log.Overlap(); err != nil {
				t.Errorf("seed %d: %v\n%s", seed, err, strings.Join(s.history, "\n"))
			}
		})
	}
}
