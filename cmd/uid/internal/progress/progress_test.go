package progress

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total, done int64
		elapsed     time.Duration
		width       int
		want        string
	}{
		{0, 0, 2500 * time.Millisecond, 79, "x  2s"},
		{1000, 0, time.Second, 79, "x [........................]   0%  0 of 1,000  - left  0/s"},
		{1000, 500, time.Second, 79, "x [############............]  50%  500 of 1,000  1s left  500/s"},
		{1000, 1000, 10 * time.Second, 79, "x [########################] 100%  1,000 of 1,000  0ms left  100/s"},
		{1000, 1500, 10 * time.Second, 79, "x [########################] 100%  1,000 of 1,000  0ms left  100/s"},
		{1000, 500, time.Second, 50, "x [#####......]  50%  500 of 1,000  1s left  500/s"},
		{1000, 500, time.Second, 48, "x [########........]  50%  500 of 1,000  1s left"},
		{1000, 500, time.Second, 30, "x [######......]  50%  1s left"},
		{1000, 500, time.Second, 20, "x [#####......]  50%"},
		{1000, 500, time.Second, 5, "x []  50%"},
	} {
		b := &Bar{label: "x", total: c.total, done: c.done}
		if got := b.line(c.elapsed, c.width); got != c.want {
			t.Errorf("line of %d of %d after %v in %d columns = %q, want %q",
				c.done, c.total, c.elapsed, c.width, got, c.want)
		}
	}
}

// TestLine80: a million ids fit a terminal of 80 columns with every part.
func TestLine80(t *testing.T) {
	t.Parallel()
	b := &Bar{label: "making ids", total: 1_000_000_000}
	for b.done = 1; b.done < b.total; b.done *= 3 {
		got := b.line(12*time.Hour, 79)
		if len(got) > 79 || !strings.Contains(got, "of 1,000,000,000") ||
			!strings.Contains(got, " left") {
			t.Errorf("%d ids show %q, want the count and the rest of the time in 79 columns", b.done, got)
		}
	}
}

// screen is what a terminal of width columns is told.
type screen struct {
	width int

	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) columns() int { return s.width }

// TestBar: nothing is shown at first, then a line that is never wider than the terminal, and none
// in the end.
func TestBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &screen{width: 20}
		b := New(s, s.columns, "等待 mysql at a.host.of.a.long.name/ids", 0)
		time.Sleep(delay - 1)
		synctest.Wait()
		if s.String() != "" {
			t.Errorf("the terminal shows %q after %v, want nothing", s, delay-1)
		}
		time.Sleep(2 * time.Second)
		b.End()
		if want := "\r等待 mysql at a  2s\x1b[K\r\x1b[K"; !strings.HasSuffix(s.String(), want) {
			t.Errorf("the terminal shows %q, want it to end with %q", s, want)
		}
		if n := strings.Count(s.String(), "\r"); n > 22 {
			t.Errorf("%d drawings in 2 s, want one every %v", n, every)
		}
	})
}

// TestAdd: the line has what was added.
func TestAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &screen{width: 80}
		b := New(s, s.columns, "x", 4)
		b.Add(1)
		b.Add(1)
		time.Sleep(time.Second)
		synctest.Wait()
		b.End()
		want := "\rx [############............]  50%  2 of 4  1s left  2/s\x1b[K\r\x1b[K"
		if !strings.HasSuffix(s.String(), want) {
			t.Errorf("the terminal shows %q, want it to end with %q", s, want)
		}
	})
}

// TestNil: a run without a terminal uses a nil Bar.
func TestNil(t *testing.T) {
	t.Parallel()
	var b *Bar
	b.Add(1)
	b.End()
}
