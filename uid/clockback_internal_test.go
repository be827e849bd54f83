package uid

import (
	"testing"
	"time"
)

// TestClockBackInSteps sets a clock back in small steps and then to where it was before one of them:
// it is believed at once, for the latest steps and for the first.
func TestClockBackInSteps(t *testing.T) {
	t.Parallel()
	for _, steps := range []int{5, 16, 40} {
		for to := range steps {
			if to > 0 && to <= steps-16 {
				continue // neither the first nor one of the latest
			}
			k, at := newClockAt()
			at.mono = 2 * time.Hour
			k.now()
			for i := range steps {
				at.mono += time.Second
				at.ahead = -time.Duration(i+1) * time.Minute
				k.now()
			}
			at.mono += 50 * time.Minute // later than the clock has shown before
			at.ahead = -time.Duration(to) * time.Minute
			if got := k.now().Sub(clockStart) - at.mono; got != at.ahead {
				t.Errorf("%d steps back, and to where it was after %d: %v ahead, want %v", steps, to, got, at.ahead)
			}
		}
	}
}
