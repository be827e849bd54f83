package segment

import (
	"context"
	"fmt"
	"sync"
)

// guard makes every range of a tag lie above the earlier ones: it lets one fetch per tag through at a time, so that ranges
// arrive in the order in which they were handed out, and compares each with the highest id seen of its origin. Tags do not
// wait for each other. The zero value is ready to use.
//
// A tag whose range went back stays refused. What this process knows is only its own high water; a counter that has
// lost writes may have lost those of other processes as well, so climbing past the own mark proves nothing.
type guard struct {
	mu    sync.Mutex
	marks map[string]*mark // one per tag that a range was fetched for, kept when the tag is deleted
}

// mark is the high water of one tag. The semaphore owns high and err: who has sent into sem may use them.
type mark struct {
	sem  chan struct{} // capacity 1; a mutex that a ctx can interrupt
	high map[int]int64 // per origin: the To of the last range, which no later From may be below
	err  error         // the first range that went back

	users int  // goroutines that hold the mark or wait for it; under guard.mu
	empty bool // no range was admitted yet; written under sem, read by the last user
}

// fetch runs f for tag and checks what it returns.
func (g *guard) fetch(ctx context.Context, tag string, f func() (Range, error)) (Range, error) {
	m, err := g.acquire(ctx, tag)
	if err != nil {
		return Range{}, err
	}
	defer g.release(tag, m)
	if m.err != nil {
		return Range{}, m.err
	}
	r, err := f()
	if err != nil {
		return Range{}, err
	}
	if err := m.admit(tag, r); err != nil {
		return Range{}, err
	}
	return r, nil
}

// admit checks r against the high water and raises it.
func (m *mark) admit(tag string, r Range) error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("segment: tag %q: %w", tag, err)
	}
	high, seen := m.high[r.Origin]
	if seen && r.From < high && !r.Cyclic {
		m.err = fmt.Errorf("%w: tag %q: the range %v begins below %d, up to where ids are in use; raise the counter above every id in use, then start anew",
			ErrRangeWentBack, tag, r, high)
		return m.err
	}
	m.empty = false
	m.high[r.Origin] = max(high, r.To)
	return nil
}

// restore runs f, which reports whether the source took rest back, and lowers the high water by rest if so, or if nobody knows: a
// later range may then begin with rest, whose ids nobody has used.
func (g *guard) restore(ctx context.Context, tag string, rest Range, f func() (bool, error)) (bool, error) {
	m, err := g.acquire(ctx, tag)
	if err != nil {
		return false, err
	}
	defer g.release(tag, m)
	ok, err := f()
	if (ok || err != nil) && m.high[rest.Origin] == rest.To {
		m.high[rest.Origin] = rest.From
	}
	return ok, err
}

// acquire returns the tag's mark, which is the caller's alone until release.
func (g *guard) acquire(ctx context.Context, tag string) (*mark, error) {
	g.mu.Lock()
	m := g.marks[tag]
	if m == nil {
		if g.marks == nil {
			g.marks = make(map[string]*mark)
		}
		m = &mark{sem: make(chan struct{}, 1), high: make(map[int]int64), empty: true}
		g.marks[tag] = m
	}
	m.users++
	g.mu.Unlock()

	select {
	case m.sem <- struct{}{}:
		return m, nil
	case <-ctx.Done():
		g.leave(tag, m)
		return nil, fmt.Errorf("segment: tag %q: waiting for another fetch: %w", tag, ctx.Err())
	}
}

func (g *guard) release(tag string, m *mark) {
	g.leave(tag, m)
	<-m.sem
}

// leave forgets a mark that nobody uses and that holds nothing, so that names which no source knows leave no trace.
func (g *guard) leave(tag string, m *mark) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.users--
	if m.users == 0 && m.empty {
		delete(g.marks, tag)
	}
}
