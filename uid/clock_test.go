package uid

import (
	"slices"
	"testing"
	"time"
)

// clockAt is a clock whose two readings the test sets: mono since the start, and how far the wall clock is ahead of where it would be had it
// gone with the monotonic one.
type clockAt struct {
	mono, ahead time.Duration
	holds       []time.Duration // what onHold was told
}

// clockStart is what the wall clock shows at first.
var clockStart = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

func (c *clockAt) read() (time.Time, time.Duration) { return clockStart.Add(c.mono + c.ahead), c.mono }

// newClockAt returns a clock with a bound of an hour for jumps, and what it reads.
func newClockAt() (*clock, *clockAt) {
	c := &clockAt{}
	return newClock(c.read, time.Hour, func(jump time.Duration) { c.holds = append(c.holds, jump) }), c
}

// TestClockNow reads a clock again and again while it is set forward and back.
func TestClockNow(t *testing.T) {
	t.Parallel()
	const h, min, ms, ns = time.Hour, time.Minute, time.Millisecond, time.Nanosecond
	type reading struct{ mono, ahead, want, jump time.Duration } // want: how far now() is ahead of the start and mono
	for _, tc := range []struct {
		name     string
		readings []reading
		holds    []time.Duration
	}{
		{"as far as is believed", []reading{{min, h, h, 0}}, nil},
		{"a nanosecond further", []reading{{min, h + ns, 0, h + ns}}, []time.Duration{h + ns}},
		{"held at the first instant", []reading{{0, 2 * h, 0, 2 * h}}, []time.Duration{2 * h}},
		{"ahead in small steps", []reading{{min, 50 * min, 50 * min, 0}, {2 * min, 100 * min, 100 * min, 0}, {3 * min, 150 * min, 150 * min, 0}}, nil},
		{"creeping", []reading{{h, 2 * ms, 2 * ms, 0}, {2 * h, h + 2*ms, h + 2*ms, 0}}, nil},
		{"ahead again from where it went back to", []reading{{min, -3 * h, -3 * h, 0}, {2 * min, -h, -3 * h, 2 * h}}, []time.Duration{2 * h}},
		{"held until it has lasted", []reading{
			{min, 5 * h, 0, 5 * h}, {6 * min, 5 * h, 0, 5 * h}, {11*min - ns, 5 * h, 0, 5 * h}, {11 * min, 5 * h, 5 * h, 0}, {12 * min, 5 * h, 5 * h, 0},
			{13 * min, 10 * h, 5 * h, 5 * h}, {22 * min, 10 * h, 5 * h, 5 * h}, {23 * min, 10 * h, 10 * h, 0},
		}, []time.Duration{5 * h, 5 * h}},
		{"taken back, and again", []reading{
			{min, 5 * h, 0, 5 * h}, {2 * min, 0, 0, 0}, {11 * min, 5 * h, 0, 5 * h}, {20 * min, 5 * h, 0, 5 * h}, {21 * min, 5 * h, 5 * h, 0},
		}, []time.Duration{5 * h, 5 * h}},
		{"back behind the start", []reading{{min, 5 * h, 0, 5 * h}, {2 * min, -2 * h, -2 * h, 0}}, []time.Duration{5 * h}},
	} {
		k, at := newClockAt()
		for i, r := range tc.readings {
			at.mono, at.ahead = r.mono, r.ahead
			if got := k.now().Sub(clockStart) - r.mono; got != r.want || k.jump() != r.jump {
				t.Errorf("%s: reading %d is %v ahead, %v held, want %v and %v", tc.name, i, got, k.jump(), r.want, r.jump)
			}
		}
		if !slices.Equal(at.holds, tc.holds) {
			t.Errorf("%s: told of holds of %v, want %v", tc.name, at.holds, tc.holds)
		}
	}
}

// TestClockJumpUnread asks for the jump between a step of the clock and the next reading.
func TestClockJumpUnread(t *testing.T) {
	t.Parallel()
	k, at := newClockAt()
	if at.ahead = time.Minute; k.jump() != 0 {
		t.Errorf("a step that is going to be believed: %v held, want none", k.jump())
	}
	at.ahead = 5 * time.Hour
	k.now()
	if at.ahead = -time.Hour; k.jump() != 0 {
		t.Errorf("a jump that was taken back: %v held, want none", k.jump())
	}
}

// TestClockConfirm lets an authority say what it thinks of a jump.
func TestClockConfirm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		off  time.Duration // of the authority, against the wall clock
		want bool
	}{{0, true}, {time.Hour, true}, {-time.Hour, true}, {time.Hour + 1, false}, {-time.Hour - 1, false}, {-5 * time.Hour, false}} {
		k, at := newClockAt()
		at.mono, at.ahead = time.Minute, 5*time.Hour
		k.now()
		if got := k.confirm(clockStart.Add(at.mono + at.ahead + tc.off)); got != tc.want {
			t.Errorf("confirm() by an authority that is off by %v = %v, want %v", tc.off, got, tc.want)
		}
		want, jump := time.Duration(0), 5*time.Hour
		if tc.want {
			want, jump = jump, want
		}
		if got := k.now().Sub(clockStart) - at.mono; got != want || k.jump() != jump {
			t.Errorf("behind a confirmation that is %v: %v ahead, %v held, want %v and %v", tc.want, got, k.jump(), want, jump)
		}
	}
}

// TestClockJumpsAgain: a jump that follows one that was confirmed is held as long as any, whether or not the clock was read in between.
func TestClockJumpsAgain(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{true, false} {
		k, at := newClockAt()
		at.mono, at.ahead = time.Minute, 5*time.Hour
		k.now()
		if !k.confirm(clockStart.Add(at.mono + at.ahead)) {
			t.Fatal("not confirmed")
		}
		if read {
			k.now()
		}
		at.mono, at.ahead = time.Hour, 10*time.Hour
		if got := k.now().Sub(clockStart) - at.mono; got != 5*time.Hour || len(at.holds) != 2 {
			t.Errorf("read in between %v: %v ahead, holds %v, want the second jump held", read, got, at.holds)
		}
	}
}
