package uid

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
)

// TestRecordFill: three times in a row that runs grow too old make one line, and one line only. A ring that
// gets full in between, or a bound that stops the padder, is a new start.
func TestRecordFill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		turns string // d: runs were dropped, f: the ring is full, a dot: neither
		lines int
	}{
		{"dd", 0}, {"ddd", 1}, {"d.d.d", 1}, {"ddfdd", 0}, {"ddfddd", 1}, {"ddd.dfdddd", 1}, {"ffff....", 0},
	} {
		c, err := NewCached(t.Context(), assigner.Static(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil { // the padder calls it, too
			t.Fatal(err)
		}
		var log bytes.Buffer
		c.keeper.journal = &journal{logger: slog.New(slog.NewTextHandler(&log, nil))}
		c.unkept, c.unkeptSaid = 0, false
		for _, turn := range tt.turns {
			c.recordFill(turn == 'd', turn == 'f')
		}
		c.keeper.journal.close()
		if got := strings.Count(log.String(), "ring cannot be kept full"); got != tt.lines {
			t.Errorf("%s: %d lines, want %d:\n%s", tt.turns, got, tt.lines, &log)
		}
	}
}
