package uid

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// clockAt is a clock whose two readings the test sets: mono since the start, and how far the wall
// clock is ahead of where it would be had it gone with the monotonic one.
type clockAt struct{ mono, ahead time.Duration }

// clockStart is what the wall clock shows at first.
var clockStart = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

func (c *clockAt) read() (time.Time, time.Duration) {
	return clockStart.Add(c.mono).Add(c.ahead), c.mono
}

// newClockAt returns a clock with a bound of an hour for jumps, and what it reads.
func newClockAt() (*clock, *clockAt) {
	c := &clockAt{}
	return newClock(c.read, time.Hour), c
}

// TestClockNow reads a clock again and again while it is set forward and back.
func TestClockNow(t *testing.T) {
	t.Parallel()
	const h, min, s, ms, ns = time.Hour, time.Minute, time.Second, time.Millisecond, time.Nanosecond
	// want is how far now() is ahead of the start and mono, jump what is reported as held.
	type reading struct{ mono, ahead, want, jump time.Duration }
	for _, tc := range []struct {
		name     string
		readings []reading
		reports  int
	}{
		{"a slack is believed at once", []reading{{min, s, s, 0}}, 0},
		{"more has to settle", []reading{
			{min, s + ns, 0, 0}, {min + 100*ms - ns, s + ns, 0, 0}, {min + 100*ms, s + ns, s + ns, 0},
		}, 0},
		{"settles as far as the bound", []reading{{min, h, 0, 0}, {min + 100*ms, h, h, 0}}, 0},
		{"a nanosecond further is held", []reading{
			{min, h + ns, 0, h + ns}, {min + 100*ms, h + ns, 0, h + ns},
			{11*min - ns, h + ns, 0, h + ns}, {11 * min, h + ns, h + ns, 0},
		}, 1},
		{"held at the first instant", []reading{{0, 2 * h, 0, 2 * h}}, 1},
		{"one wrong reading ahead", []reading{{min, 11 * min, 0, 0}, {min + s, 0, 0, 0}, {h, 0, 0, 0}}, 0},
		{"wrong readings that differ", []reading{
			{min, 10 * min, 0, 0}, {2 * min, 20 * min, 0, 0}, {3 * min, 10 * min, 0, 0}, {4 * min, 0, 0, 0},
		}, 0},
		{"two readings of one step with a right one in between", []reading{
			{min, 10 * min, 0, 0}, {2 * min, 0, 0, 0}, {3 * min, 10 * min, 0, 0},
			{3*min + 100*ms, 10 * min, 10 * min, 0},
		}, 0},
		{"one wrong reading back", []reading{{min, -2 * h, -2 * h, 0}, {min + s, 0, 0, 0}, {2 * min, 0, 0, 0}}, 0},
		{"back, and not quite to where it was", []reading{
			{min, -3 * h, -3 * h, 0}, {2 * min, -h, -h, 0}, {3 * min, -s, -s, 0}, {4 * min, s, s, 0},
		}, 0},
		{"back, and beyond where it was", []reading{
			{min, -3 * h, -3 * h, 0}, {2 * min, 2 * h, -3 * h, 5 * h}, {3 * min, 0, 0, 0},
		}, 1},
		{"back twice, and to where it was first", []reading{
			{min, -3 * h, -3 * h, 0}, {2 * min, -5 * h, -5 * h, 0}, {3 * min, 0, 0, 0},
		}, 0},
		{"back, and ahead when the time has come to where it was", []reading{
			{min, -h, -h, 0}, {2 * h, -h, -h, 0}, {2*h + min, -10 * min, -h, 0}, {2*h + 2*min, -h, -h, 0},
		}, 0},
		{"ahead in steps that last", []reading{
			{min, 50 * min, 0, 0}, {2 * min, 50 * min, 50 * min, 0},
			{3 * min, 100 * min, 50 * min, 0}, {4 * min, 100 * min, 100 * min, 0},
		}, 0},
		{"slacks long after the start are believed at once", []reading{
			{2 * h, s, s, 0}, {3 * h, 2 * s, 2 * s, 0}, {4 * h, s, s, 0}, {5 * h, 2500 * ms, s, 0},
		}, 0},
		{"back, and ahead to a slack beyond where it was", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {2*h + min, s - min, s - min, 0},
		}, 0},
		{"back, and ahead beyond that", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {2*h + min, s - min + ns, -3 * h, 3*h + s - min + ns},
		}, 1},
		{"back, and a slack more than where it would be", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {2*h + 2*min, s, s, 0},
		}, 0},
		{"back, and a slack less than where it would be", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {2*h + 2*min, -s, -s, 0},
		}, 0},
		{"back four times, and to where it was first", []reading{
			{2 * h, -h, -h, 0}, {2*h + min, -2 * h, -2 * h, 0}, {2*h + 2*min, -3 * h, -3 * h, 0},
			{2*h + 3*min, -4 * h, -4 * h, 0}, {2*h + 4*min, 0, 0, 0},
		}, 0},
		{"back twice, and ahead to an instant before the first time", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {2*h + min, -5 * h, -5 * h, 0},
			{2*h + 2*min, -62 * min, -62 * min, 0},
		}, 0},
		{"back for an hour", []reading{{2 * h, -3 * h, -3 * h, 0}, {3 * h, 0, 0, 0}}, 0},
		{"back for more than an hour", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {3*h + ns, 0, -3 * h, 3 * h},
		}, 1},
		{"creeping back, and a step ahead of that", []reading{
			{2 * h, -900 * ms, -900 * ms, 0}, {3 * h, 600 * ms, -900 * ms, 0},
		}, 0},
		{"back twice long after the start, and to where it was first", []reading{
			{2 * h, -3 * h, -3 * h, 0}, {2*h + min, -5 * h, -5 * h, 0}, {2*h + 2*min, 0, 0, 0},
		}, 0},
		{"creeping", []reading{{h, 2 * ms, 2 * ms, 0}, {2 * h, s + 2*ms, s + 2*ms, 0},
			{3 * h, 2*s + 2*ms, 2*s + 2*ms, 0}}, 0},
		{"held until it has lasted, twice", []reading{
			{min, 5 * h, 0, 5 * h}, {6 * min, 5 * h, 0, 5 * h}, {11*min - ns, 5 * h, 0, 5 * h},
			{11 * min, 5 * h, 5 * h, 0}, {12 * min, 5 * h, 5 * h, 0},
			{13 * min, 10 * h, 5 * h, 5 * h}, {22 * min, 10 * h, 5 * h, 5 * h}, {23 * min, 10 * h, 10 * h, 0},
		}, 2},
		{"taken back, and again", []reading{
			{min, 5 * h, 0, 5 * h}, {2 * min, 0, 0, 0}, {11 * min, 5 * h, 0, 5 * h},
			{20 * min, 5 * h, 0, 5 * h}, {21 * min, 5 * h, 5 * h, 0},
		}, 2},
		{"taken back at the same instant", []reading{
			{min, 10 * min, 0, 0}, {min, 0, 0, 0}, {min + 100*ms, 10 * min, 0, 0},
		}, 0},
		{"back behind the start", []reading{{min, 5 * h, 0, 5 * h}, {2 * min, -2 * h, -2 * h, 0}}, 1},
	} {
		k, at := newClockAt()
		reports := 0
		for i, r := range tc.readings {
			at.mono, at.ahead = r.mono, r.ahead
			if got := k.now().Sub(clockStart) - r.mono; got != r.want || k.jump() != r.jump {
				t.Errorf("%s: reading %d is %v ahead, %v held, want %v and %v",
					tc.name, i, got, k.jump(), r.want, r.jump)
			}
			for k.report() {
				reports++
			}
		}
		if reports != tc.reports {
			t.Errorf("%s: %d jumps were reported, want %d", tc.name, reports, tc.reports)
		}
	}
}

// TestClockFarOff shows years whose distance does not fit a time.Duration, for one reading and for
// minutes.
func TestClockFarOff(t *testing.T) {
	t.Parallel()
	for i, year := range []int{1, 1677, 1678, 1900, 2099, 2200, 2262, 2263, 2300, 2554, 9999, 292_000_000,
		1, 1677, 1678, 1900, 2099, 2200, 2262, 2263, 2300, 2554, 9999, 292_000_000} {
		// The monotonic clock may begin anywhere.
		wall, mono := clockStart, time.Duration(i/12)*-5*time.Hour
		origin := mono
		k := newClock(func() (time.Time, time.Duration) { return wall, mono }, time.Hour)
		far := time.Date(year, time.June, 1, 0, 0, 0, 0, time.UTC)
		for range 50 {
			mono += 10 * time.Second
			wall = far.Add(mono - origin)
			want := clockStart.Add(mono - origin)
			if far.Before(clockStart) {
				want = wall // a clock that goes back is believed
			}
			if got := k.now(); !got.Equal(want) {
				t.Fatalf("year %d: now() = %v, want %v", year, got, want)
			}
		}
		if held := k.jump() > 0; held != far.After(clockStart) {
			t.Errorf("year %d: held %v", year, held)
		}
		mono += time.Second
		if wall = clockStart.Add(mono - origin); !k.now().Equal(wall) || k.jump() != 0 {
			t.Errorf("after year %d: now() = %v, %v held, want %v and nothing", year, k.now(), k.jump(), wall)
		}
	}
}

// TestClockLateReading interrupts a reader between its reading and what it does with it, and steps
// the clock meanwhile: what it read is from before the step, which is believed when it is due.
func TestClockLateReading(t *testing.T) {
	t.Parallel()
	for step, lasts := range map[time.Duration]time.Duration{
		10 * time.Minute: settleAfter, 5 * time.Hour: confirmAfter} {
		at := &clockAt{}
		meanwhile := func() {}
		k := newClock(func() (time.Time, time.Duration) {
			wall, mono := at.read()
			meanwhile()
			return wall, mono
		}, time.Hour)
		at.mono = time.Minute
		meanwhile = func() {
			meanwhile = func() {}
			at.mono, at.ahead = at.mono+1, step
			k.now()
		}
		for _, want := range []time.Duration{-1, 0, step} { // the late one, and two of the step
			if got := k.now().Sub(clockStart) - at.mono; got != want {
				t.Errorf("a step of %v, at %v: %v ahead, want %v", step, at.mono, got, want)
			}
			at.mono += lasts / 2
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
	k.now()
	if at.ahead = 5 * time.Hour; k.jump() != 0 {
		t.Errorf("a jump that no reading has held yet: %v held, want none", k.jump())
	}
}

// TestClockConfirm lets an authority judge a jump.
func TestClockConfirm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		off  time.Duration // of the authority, against the wall clock
		want bool
	}{{0, true}, {time.Hour, true}, {-time.Hour, true}, {time.Hour + 1, false},
		{-time.Hour - 1, false}, {-5 * time.Hour, false}} {
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
			t.Errorf("after a confirmation that is %v: %v ahead, %v held, want %v and %v",
				tc.want, got, k.jump(), want, jump)
		}
	}
}

// TestClockJumpsAgain: a jump that follows one that was confirmed is held as long as any, whether
// or not the clock was read in between.
func TestClockJumpsAgain(t *testing.T) {
	t.Parallel()
	for _, read := range []bool{true, false} {
		k, at := newClockAt()
		at.mono, at.ahead = time.Minute, 5*time.Hour
		k.now()
		if !k.report() || !k.confirm(clockStart.Add(at.mono+at.ahead)) {
			t.Fatal("not reported, or not confirmed")
		}
		if read {
			k.now()
		}
		at.mono, at.ahead = time.Hour, 10*time.Hour
		if got := k.now().Sub(clockStart) - at.mono; got != 5*time.Hour || !k.report() || k.report() {
			t.Errorf("read in between %v: %v ahead, want the second jump held and reported once", read, got)
		}
	}
}

// TestClockLateReturn has the clock show, for one reading, what it showed before it went back long
// ago.
func TestClockLateReturn(t *testing.T) {
	t.Parallel()
	k, at := newClockAt()
	for _, r := range []struct{ mono, ahead, want time.Duration }{
		{time.Minute, -5 * time.Hour, -5 * time.Hour},
		{30 * time.Minute, 0, 0}, // back where it was
		{40 * time.Minute, -5 * time.Hour, -5 * time.Hour},
		{72 * time.Hour, -5 * time.Hour, -5 * time.Hour},
		{72*time.Hour + time.Second, 0, -5 * time.Hour}, // a jump like any other
	} {
		at.mono, at.ahead = r.mono, r.ahead
		if got := k.now().Sub(clockStart) - r.mono; got != r.want {
			t.Errorf("at %v a clock that is %v ahead is believed to be %v ahead, want %v", r.mono, r.ahead, got, r.want)
		}
	}
}

// TestClockReaders has goroutines use a clock that is set forward and back: it ends as the wall
// clock shows it. Under the race detector it also finds a field that is used without the lock.
func TestClockReaders(t *testing.T) {
	t.Parallel()
	wall := NewTestClock()
	k := newClock(wall.read, time.Minute)
	var wg sync.WaitGroup
	for _, use := range []func(){
		func() { k.now() }, func() { k.now() }, func() { k.jump() }, func() { k.report() },
		func() { k.confirm(wall.Now()) },
	} {
		wg.Go(func() {
			for range 5000 / slow {
				use()
			}
		})
	}
	steps := []time.Duration{10 * time.Second, -30 * time.Second, 2 * time.Hour, -2 * time.Hour,
		20 * time.Second}
	for i := range 500 / slow {
		wall.Step(steps[i%len(steps)])
		k.now()
	}
	wg.Wait()
	if !k.confirm(wall.Now()) {
		t.Error("the clock does not believe an authority that agrees with it")
	}
	if off := k.now().Sub(wall.Now()); off > time.Second || off < -time.Second {
		t.Errorf("the clock is %v off", off)
	}
}

// TestClockOrigin has a monotonic clock that begins anywhere: the first reading is believed, and a
// step ahead by as much as the monotonic clock shows is a step like any other.
func TestClockOrigin(t *testing.T) {
	t.Parallel()
	for _, origin := range []time.Duration{30 * time.Minute, 5 * time.Hour, -5 * time.Hour} {
		at := &clockAt{mono: origin}
		k := newClock(at.read, 10*time.Hour)
		for _, ahead := range []time.Duration{0, origin, 0, -origin} {
			at.mono += time.Minute
			at.ahead = ahead
			want := min(0, ahead)
			if got := k.now().Sub(clockStart) - at.mono; got != want {
				t.Errorf("from %v on: a clock that is %v ahead is believed to be %v ahead, want %v",
					origin, ahead, got, want)
			}
		}
	}
}

// TestClockReportsHeld ends a jump before anybody asks for it: what is held no longer is not
// reported.
func TestClockReportsHeld(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(k *clock, at *clockAt){
		"taken back": func(k *clock, at *clockAt) { at.ahead = 0; k.now() },
		"lasted":     func(k *clock, at *clockAt) { at.mono += confirmAfter; k.now() },
		"confirmed": func(k *clock, at *clockAt) {
			if wall, _ := at.read(); !k.confirm(wall) {
				t.Error("not confirmed")
			}
		},
	} {
		k, at := newClockAt()
		at.mono, at.ahead = time.Minute, 5*time.Hour
		k.now()
		if end(k, at); k.report() || k.jump() != 0 {
			t.Errorf("%s: reported as held by %v", name, k.jump())
		}
	}
}

// TestClockBackTogether has readers find the same step back at once: they note it once, so that the
// way back is still known.
func TestClockBackTogether(t *testing.T) {
	t.Parallel()
	k, at := newClockAt()
	at.mono, at.ahead = 2*time.Hour, -3*time.Hour
	k.now()
	for range k.was {
		k.back(at.ahead, at.mono)
		k.back(at.ahead-clockSlack, at.mono) // agrees
	}
	if got := time.Duration(k.offset.Load()); got != at.ahead {
		t.Errorf("a reading that agrees to a second moves the clock from %v to %v", at.ahead, got)
	}
	at.mono, at.ahead = at.mono+time.Minute, 0
	if got := k.now().Sub(clockStart) - at.mono; got != 0 {
		t.Errorf("back where it was, the clock is believed to be %v ahead", got)
	}
}

// TestClockFarOffLasts shows a far year for as long as any jump is held, right after one far back:
// it is believed then, and not before.
func TestClockFarOffLasts(t *testing.T) {
	t.Parallel()
	wall, mono := clockStart, time.Duration(0)
	k := newClock(func() (time.Time, time.Duration) { return wall, mono }, time.Hour)
	behind := time.Date(1, time.June, 1, 0, 0, 0, 0, time.UTC)
	if wall = behind; !k.now().Equal(wall) {
		t.Errorf("a clock that goes back is not believed: %v", k.now())
	}
	begin := mono + time.Second
	for mono = begin; mono <= begin+confirmAfter; mono += 10 * time.Second {
		wall = time.Date(9999, time.June, 1, 0, 0, 0, 0, time.UTC).Add(mono)
		if got := k.now(); got.Equal(wall) != (mono == begin+confirmAfter) {
			t.Fatalf("year 9999 for %v: now() = %v", mono-begin, got)
		}
	}
}

// waitsFor fails the test if call returns before another goroutine has unlocked mu.
func waitsFor(t *testing.T, what string, mu sync.Locker, call func()) {
	t.Helper()
	waitsWhile(t, what, mu, func() {}, call)
}

// waitsWhile is waitsFor, and the other goroutine calls meanwhile before it unlocks mu.
func waitsWhile(t *testing.T, what string, mu sync.Locker, meanwhile, call func()) {
	t.Helper()
	mu.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	select {
	case <-done:
		t.Errorf("%s does not wait for the goroutine that is at it", what)
	case <-time.After(5 * time.Millisecond):
	}
	meanwhile()
	mu.Unlock()
	<-done
}

// TestClockLocks: a call that changes or reads a step waits for the one that judges it, and judges
// what that one has left.
func TestClockLocks(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		first time.Duration // the step that the first goroutine believes
		doubt bool          // what it leaves
		call  func(k *clock, at *clockAt) error
	}{
		"a step back": {-3 * time.Hour, false, func(k *clock, at *clockAt) error {
			if k.back(-3*time.Hour, at.mono); k.was[0] != (stepBack{}) {
				return fmt.Errorf("one step is noted twice: %v", k.was)
			}
			return nil
		}},
		"a step ahead": {5 * time.Hour, false, func(k *clock, at *clockAt) error {
			wall, _ := at.read()
			if got := k.ahead(wall, 5*time.Hour, at.mono); !got.Equal(wall) {
				return fmt.Errorf("the time is %v, want %v, which another reader believes", got, wall)
			}
			return nil
		}},
		"settle": {0, true, func(k *clock, at *clockAt) error {
			if k.settle(at.mono); k.doubt.Load() {
				return errors.New("the doubt lasts")
			}
			return nil
		}},
		"jump":    {0, true, func(k *clock, _ *clockAt) error { k.jump(); return nil }},
		"report":  {0, true, func(k *clock, _ *clockAt) error { k.report(); return nil }},
		"confirm": {0, true, func(k *clock, _ *clockAt) error { k.confirm(clockStart); return nil }},
	} {
		k, at := newClockAt()
		at.mono, at.ahead = time.Minute, 5*time.Hour
		k.now()
		waitsWhile(t, what, &k.mu, func() {
			k.offset.Store(int64(tc.first))
			k.doubt.Store(tc.doubt)
		}, func() {
			if err := tc.call(k, at); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}
