package uid

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestReportLooksAgain has ids come back between the look that finds them stopped and the log line:
// who made them saw no line that they had stopped, so only the reporter can say that they are back.
func TestReportLooksAgain(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{true, false} {
		var text strings.Builder
		k := &keeper{journal: &journal{logger: slog.New(slog.NewTextHandler(&text, nil))}}
		k.window.Store(&window{})
		k.journal.halted.Store(!stopped)
		looks := 0
		k.blocked = func() error {
			if looks++; (looks == 1) == stopped {
				return errors.New("stopped")
			}
			return nil
		}
		k.report()
		k.journal.close()
		// "stopped" within a second of "back" is left to the next look: see stopLines.
		if looks != 2 && !stopped || looks != 3 && stopped || k.journal.halted.Load() {
			t.Errorf("stopped %v: %d looks, halted %v:\n%s", stopped, looks, k.journal.halted.Load(), &text)
		}
	}
}
