// Package progress shows how far a long run has come: a bar that redraws itself on a terminal, a line per suite elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Bar counts the steps of one suite. It belongs to one goroutine.
type Bar struct {
	w       io.Writer
	live    bool // redraws itself
	name    string
	total   int
	done    int
	start   time.Time
	drawn   time.Time
	current string
}

// redraw is the least time between two drawings, so that drawing does not disturb what is measured.
const redraw = 100 * time.Millisecond

// New returns the Bar of a suite of total steps on f.
func New(f *os.File, name string, total int) *Bar {
	b := &Bar{w: f, name: name, total: total, start: time.Now()}
	if info, err := f.Stat(); err == nil {
		b.live = info.Mode()&os.ModeCharDevice != 0
	}
	if !b.live {
		fmt.Fprintf(b.w, "%s: %d steps\n", name, total)
	}
	return b
}

// Step counts one step and says what comes next.
func (b *Bar) Step(what string) {
	b.done++
	b.Show(what)
}

// Show draws the bar with what is going on.
func (b *Bar) Show(what string) {
	b.current = what
	if now := time.Now(); b.live && now.Sub(b.drawn) >= redraw {
		b.drawn = now
		fmt.Fprintf(b.w, "\r\x1b[K%s", b.line(now))
	}
}

// End draws the last line.
func (b *Bar) End() {
	now := time.Now()
	b.current = ""
	if b.live {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	fmt.Fprintf(b.w, "%s: done in %v\n", b.name, now.Sub(b.start).Round(100*time.Millisecond))
}

// line returns the bar as text.
func (b *Bar) line(now time.Time) string {
	const width = 30
	share := 0.0
	if b.total > 0 {
		share = min(1, float64(b.done)/float64(b.total))
	}
	full := int(share * width)
	left := "?"
	if b.done > 0 {
		d := now.Sub(b.start)
		left = time.Duration(float64(d) * (1/share - 1)).Round(time.Second).String()
	}
	return fmt.Sprintf("%-10s [%s%s] %3.0f%%  %s left  %.40s", b.name, strings.Repeat("#", full), strings.Repeat(".", width-full),
		100*share, left, b.current)
}
