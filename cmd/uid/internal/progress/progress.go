// Package progress shows on a terminal how far a long run has come.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/human"
)

const (
	delay = 300 * time.Millisecond // work that is over by then shows nothing
	every = 100 * time.Millisecond // between two drawings
)

// Bar is one line of a terminal. Its methods may be called concurrently. A nil Bar does nothing,
// which is what a run without a terminal uses.
type Bar struct {
	w     io.Writer
	width func() int
	label string
	total int64
	start time.Time

	mu    sync.Mutex
	done  int64
	drawn time.Time
	shown bool

	stop chan struct{}
	wg   sync.WaitGroup
}

// New returns a Bar on the terminal w, which has width() columns. It starts a goroutine, which End
// ends and awaits, that draws the Bar again and again. A total of 0 is unknown: the Bar then shows
// the time that has passed.
func New(w io.Writer, width func() int, label string, total int64) *Bar {
	now := time.Now()
	b := &Bar{w: w, width: width, label: label, total: total, start: now,
		drawn: now.Add(delay - every), stop: make(chan struct{})}
	b.wg.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-ticker.C:
				b.Add(0)
			}
		}
	})
	return b
}

// Add counts n more as done, and draws the Bar if it is time to.
func (b *Bar) Add(n int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += n
	now := time.Now()
	if now.Sub(b.drawn) < every {
		return
	}
	b.drawn, b.shown = now, true
	// A line that reaches the last column makes some terminals scroll.
	width := b.width() - 1
	fmt.Fprint(b.w, "\r"+clip(b.line(now.Sub(b.start), width), width)+"\x1b[K")
}

// End erases the Bar. Nothing else may be printed on the terminal before.
func (b *Bar) End() {
	if b == nil {
		return
	}
	close(b.stop)
	b.wg.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

// line returns the Bar after elapsed, with the parts that fit into width columns.
func (b *Bar) line(elapsed time.Duration, width int) string {
	if b.total == 0 {
		seconds := fmt.Sprintf("  %ds", int(elapsed.Seconds()))
		return clip(b.label, width-len(seconds)) + seconds
	}
	done := min(b.done, b.total)
	share := float64(done) / float64(b.total)
	rate := float64(done) / elapsed.Seconds()
	left := "-"
	if done > 0 {
		left = human.Seconds(float64(b.total-done) / rate)
	}
	percent := fmt.Sprintf(" %3d%%", int(share*100))
	left = "  " + left + " left"
	count := fmt.Sprintf("  %s of %s", human.Count(done), human.Count(b.total))
	speed := "  " + human.Short(rate) + "/s"
	tails := []string{percent + count + left + speed, percent + count + left, percent +
		left, percent}
	const fewest, most = 10, 24 // cells of the bar
	room := width - len(b.label) - len(" []")
	for len(tails) > 1 && room-len(tails[0]) < fewest {
		tails = tails[1:]
	}
	cells := max(0, min(room-len(tails[0]), most))
	full := int(share * float64(cells))
	return fmt.Sprintf("%s [%s%s]%s", b.label, strings.Repeat("#", full),
		strings.Repeat(".", cells-full), tails[0])
}

// clip cuts s to width columns, taking every character that is not ASCII for a wide one.
func clip(s string, width int) string {
	for i, r := range s {
		width--
		if r > '~' {
			width--
		}
		if width < 0 {
			return s[:i]
		}
	}
	return s
}
