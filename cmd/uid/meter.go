package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

const (
	meterDelay = 300 * time.Millisecond // work that is over by then shows nothing
	meterEvery = 100 * time.Millisecond
)

// meter shows on a terminal how far a piece of work is. It starts a goroutine, which close ends and awaits. A nil
// meter, which is what a stderr that is no terminal gets, does nothing.
type meter struct {
	w     io.Writer
	width func() int
	label string
	total int64 // 0: unknown, only the time is shown
	begin time.Time
	done  atomic.Int64

	stop chan struct{}
	wg   sync.WaitGroup
}

// meter returns a running meter, or nil when nobody would see it.
func (p *program) meter(label string, total int64) *meter {
	if !isTerminal(p.stderr) || p.getenv("TERM") == "dumb" {
		return nil
	}
	m := &meter{w: p.stderr, width: func() int { return terminalWidth(p.stderr) }, label: label, total: total,
		begin: time.Now(), stop: make(chan struct{})}
	m.wg.Go(m.loop)
	return m
}

// add counts n more pieces as done.
func (m *meter) add(n int64) {
	if m != nil {
		m.done.Add(n)
	}
}

// close erases the meter's line. Whoever prints to stderr closes the meter first.
func (m *meter) close() {
	if m == nil {
		return
	}
	close(m.stop)
	m.wg.Wait()
}

func (m *meter) loop() {
	timer := time.NewTimer(meterDelay)
	defer timer.Stop()
	shown := false
	for {
		select {
		case <-m.stop:
			if shown {
				fmt.Fprint(m.w, "\r\x1b[K")
			}
			return
		case <-timer.C:
			line := m.line(time.Since(m.begin))
			if w := m.width(); len(line) >= w {
				line = line[:max(w-1, 0)]
			}
			fmt.Fprint(m.w, "\r"+line+"\x1b[K")
			shown = true
			timer.Reset(meterEvery)
		}
	}
}

// line is the text of the meter after elapsed, in ASCII, so that its length is its width.
func (m *meter) line(elapsed time.Duration) string {
	if m.total == 0 {
		return fmt.Sprintf("%s  %ds", m.label, int(elapsed.Seconds()))
	}
	const cells = 24
	done := min(m.done.Load(), m.total)
	share := float64(done) / float64(m.total)
	full := int(share * cells)
	rate := float64(done) / elapsed.Seconds()
	left := "-"
	if done > 0 {
		left = span(time.Duration(float64(m.total-done) / rate * float64(time.Second)))
	}
	return fmt.Sprintf("%s [%s%s] %3d%%  %s of %s  %s/s  %s left", m.label, strings.Repeat("#", full),
		strings.Repeat(".", cells-full), int(share*100), grouped(done), grouped(m.total), short(rate), left)
}

// isTerminal reports whether w is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the width of the terminal w in columns, 80 when it does not say.
func terminalWidth(w any) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}
