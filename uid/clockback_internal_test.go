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

// TestClockBeginAt compares a clock with the authority's when it begins: one that is ahead of it by an hour
// is believed.
func TestClockBeginAt(t *testing.T) {
	t.Parallel()
	wall := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	for _, ahead := range []time.Duration{-time.Minute, time.Minute, maxJump, maxJump + 1} {
		k := newClock(func() (time.Time, time.Duration) { return wall, 0 }, maxJump)
		k.beginAt(wall.Add(-ahead))
		if got := wall.Sub(k.now()); (got != 0) != (ahead > maxJump) {
			t.Errorf("%v ahead of the authority: %v of that are not believed", ahead, got)
		}
	}
}

// TestClockKeepsSteps has more steps back than the clock notes: it keeps the highest one of the last hour
// besides the latest, and neither an older one nor one that is lower or as high. To where the first of the
// last sixteen steps began it comes back at once.
func TestClockKeepsSteps(t *testing.T) {
	t.Parallel()
	const h, m, s = time.Hour, time.Minute, time.Second
	for _, tc := range []struct {
		what         string
		before       [][2]time.Duration // readings: the monotonic time, and how far ahead the clock is
		begin, until time.Duration      // of the steps, the first one; when the clock comes back
		from         time.Duration      // where the clock is when they begin
	}{
		{"older", [][2]time.Duration{{2*h - 1, 0}, {2 * h, -m}}, 3*h + m, 3*h + 20*m, -m},
		{"lower", [][2]time.Duration{{30 * m, 0}, {30*m + s, -10 * m}, {2 * h, -20 * m}, {2*h + s, 0},
			{2*h + 2*s, 0}}, 2*h + 10*s, 2*h + 40*m, 0},
		{"as high", [][2]time.Duration{{2*h - 1, 0}, {2 * h, -m}, {2*h + s, 0}}, 2*h + 50*m, 3*h + 10*m, 0},
	} {
		k, at := newClockAt()
		show := func(mono, ahead time.Duration) time.Duration {
			at.mono, at.ahead = mono, ahead
			return k.now().Sub(clockStart) - mono
		}
		for _, r := range tc.before {
			show(r[0], r[1])
		}
		if got := show(tc.begin-1, tc.from); got != tc.from {
			t.Fatalf("%s: %v ahead before the steps, want %v", tc.what, got, tc.from)
		}
		for i := range 16 {
			show(tc.begin+time.Duration(i)*s, tc.from-time.Duration(i+1)*m)
		}
		if got := show(tc.until, tc.from); got != tc.from {
			t.Errorf("%s: %v ahead, want %v at once", tc.what, got, tc.from)
		}
	}
}

// TestClockDenied has the authority say of a jump ahead that the clock is behind, or first ahead and then
// behind, or of an earlier jump that it is ahead: only the second jump is not believed when it has lasted.
func TestClockDenied(t *testing.T) {
	t.Parallel()
	const h, m = time.Hour, time.Minute
	for _, tc := range []struct {
		says []time.Duration // how far ahead the clock is by the authority's
		to   time.Duration   // where the clock jumps then
		want time.Duration   // of that, what is believed after ten minutes
	}{
		{[]time.Duration{-2 * h}, 3 * h, 3 * h},
		{[]time.Duration{3 * h, -2 * h}, 3 * h, 0},
		{[]time.Duration{3 * h}, 6 * h, 6 * h},
	} {
		k, at := newClockAt()
		at.mono, at.ahead = m, 3*h
		k.now()
		for _, ahead := range tc.says {
			if k.confirm(clockStart.Add(at.mono + at.ahead - ahead)) {
				t.Errorf("%v: confirmed", tc)
			}
		}
		at.mono, at.ahead = 2*m, tc.to
		k.now()
		at.mono = 13 * m
		if got := k.now().Sub(clockStart) - at.mono; got != tc.want {
			t.Errorf("%v: %v are believed", tc, got)
		}
	}
}
