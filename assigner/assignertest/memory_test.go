package assignertest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

// memory is an authority in memory that does everything right, except for what its flaw says.
type memory struct {
	flaw  string
	mu    sync.Mutex
	slots []slot
	bound string
}

// slot is the state of one worker id.
type slot struct {
	generation int
	until      time.Time
}

const length = 10 * time.Minute

func newMemory(flaw string) assignertest.Factory {
	return assignertest.Factory{Authority: func(testing.TB) func() assigner.Assigner {
		m := &memory{flaw: flaw}
		return func() assigner.Assigner { return memoryAssigner{m: m} }
	}}
}

type memoryAssigner struct {
	m      *memory
	layout string
}

func (a memoryAssigner) BindLayout(layout string) assigner.Assigner {
	a.layout = layout
	return a
}

func (a memoryAssigner) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	m := a.m
	if err := ctx.Err(); err != nil && m.flaw != "assign ignores ctx" {
		if m.flaw == "ctx error not wrapped" {
			return nil, fmt.Errorf("memory: %v", err)
		}
		return nil, fmt.Errorf("memory: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bound == "" {
		m.bound = a.layout
	}
	if m.bound != a.layout && a.layout != "" && m.flaw != "any layout" {
		if m.flaw == "mute mismatch" {
			return nil, assigner.ErrLayoutMismatch
		}
		return nil, fmt.Errorf("%w: %s beside %s", assigner.ErrLayoutMismatch, a.layout, m.bound)
	}
	now := time.Now()
	worker := len(m.slots)
	for i := range m.slots {
		if m.slots[i].until.Before(now) || m.flaw == "takes over early" {
			worker = i
			break
		}
	}
	if int64(worker) > maxWorker {
		switch m.flaw {
		case "truncates":
			worker &= int(maxWorker)
		case "beyond the maximum":
		case "unnamed exhaustion":
			return nil, fmt.Errorf("memory: full")
		default:
			return nil, assigner.ErrWorkersExhausted
		}
	}
	for worker >= len(m.slots) {
		m.slots = append(m.slots, slot{until: now.Add(-time.Hour)})
	}
	s := &m.slots[worker]
	from := s.until
	if m.flaw == "forgets the fence" {
		from = now.Add(-2 * time.Hour)
	}
	s.generation++
	s.until = now.Add(length)
	if m.flaw == "empty window" {
		from, s.until = now, now
	}
	return &memoryClaim{m: m, worker: worker, generation: s.generation, from: from, until: s.until}, nil
}

type memoryClaim struct {
	m                  *memory
	worker, generation int
	from, until        time.Time // until is guarded by m.mu
	calls              int       // of Window, for a flaw
}

func (c *memoryClaim) Worker() int64 {
	if c.m.flaw == "negative" {
		return -1
	}
	return int64(c.worker)
}

func (c *memoryClaim) Window() (from, until time.Time) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.m.flaw == "flickers" {
		c.calls++
		return c.from, c.until.Add(-time.Duration(c.calls) * time.Millisecond)
	}
	return c.from, c.until
}

func (c *memoryClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	m := c.m
	if err := ctx.Err(); err != nil && m.flaw != "extend ignores ctx" {
		if m.flaw == "cancelled is lost" {
			return time.Time{}, assigner.ErrClaimLost
		}
		return time.Time{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.slots[c.worker]
	if s.generation != c.generation && m.flaw != "extends what is gone" {
		return time.Time{}, assigner.ErrClaimLost
	}
	if m.flaw == "grants less" {
		until = until.Add(-time.Minute)
	}
	if until.After(s.until) || m.flaw == "shrinks" {
		s.until = until
	}
	if m.flaw == "moves from" {
		c.from = c.from.Add(time.Second)
	}
	if m.flaw != "hides the extension" {
		c.until = s.until
	}
	return s.until, nil
}

func (c *memoryClaim) Release(_ context.Context, used time.Time) error {
	m := c.m
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.slots[c.worker]
	if s.generation != c.generation {
		if m.flaw == "second release fails" {
			return assigner.ErrClaimLost
		}
		if m.flaw != "stale release" {
			return nil
		}
	}
	if m.flaw != "extends what is gone" {
		s.generation++
	}
	s.until = used
	if used.IsZero() || m.flaw == "forgets what was used" {
		s.until = c.from
	}
	if used.IsZero() && m.flaw == "forgets earlier owners" {
		s.until = time.Time{}
	}
	return nil
}

func (c *memoryClaim) Now(ctx context.Context) (time.Time, error) {
	switch c.m.flaw {
	case "wrong epoch":
		return time.Unix(time.Now().UnixMilli(), 0), nil
	case "clock ignores ctx":
		return time.Now(), nil
	}
	return time.Now(), ctx.Err()
}
