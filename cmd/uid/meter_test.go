package main

import (
	"bytes"
	"testing"
	"time"
)

func TestMeterLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total, done int64
		elapsed     time.Duration
		want        string
	}{
		{0, 0, 2500 * time.Millisecond, "x  2s"},
		{1000, 0, time.Second, "x [........................]   0%  0 of 1,000  0/s  - left"},
		{1000, 500, time.Second, "x [############............]  50%  500 of 1,000  500/s  1s left"},
		{1000, 1000, 10 * time.Second, "x [########################] 100%  1,000 of 1,000  100/s  0ms left"},
		{1000, 1500, 10 * time.Second, "x [########################] 100%  1,000 of 1,000  100/s  0ms left"},
	} {
		m := &meter{label: "x", total: c.total}
		m.add(c.done)
		if got := m.line(c.elapsed); got != c.want {
			t.Errorf("line with %d of %d after %v = %q, want %q", c.done, c.total, c.elapsed, got, c.want)
		}
	}
}

// TestMeterNil: what is no terminal gets no meter, and a nil meter can be used.
func TestMeterNil(t *testing.T) {
	t.Parallel()
	p := &program{stderr: &bytes.Buffer{}}
	m := p.meter("x", 10)
	if m != nil {
		t.Fatal("a meter on a buffer, want none")
	}
	m.add(1)
	m.close()
}
