package uid

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// settleAfter is how long a step ahead has to last before it is believed, and confirmAfter how
	// long one of more than maxJump. In both cases a second reading has to agree with the first. A
	// tenth of a second outlasts a single wrong reading and is short for ids that carry the time of
	// before the step. Ten minutes leave an operator, or the authority, time to judge a clock that
	// is hours off.
	settleAfter  = 100 * time.Millisecond
	confirmAfter = 10 * time.Minute
	maxJump      = time.Hour

	// returnWithin is how long after a step back the way back is expected. Later it is a step
	// ahead.
	returnWithin = time.Hour

	// clockSlack is the difference up to which two readings agree, and the step ahead that is
	// believed at once. It covers what slewing and a leap second do, and what passes between the
	// readings of two goroutines.
	clockSlack = time.Second

	// reportPause is the least time from one report of a jump to the next: a clock that jumps about
	// is one line of the log a second.
	reportPause = time.Second
)

// readClocks reads the wall clock and the monotonic clock, both at one instant as far as possible.
// It is safe for concurrent use, and is called without a lock, because it may be Options.Clock.
type readClocks func() (wall time.Time, mono time.Duration)

// clock reads the wall clock and keeps steps ahead away from the position, which never comes back:
// a clock that shows 2099 for a moment would drag it there.
//
// It compares the wall clock with the monotonic clock. A wall clock that goes back, creeps, or
// comes back to where it has been is believed at once, because the position does not follow it back
// and has been where it returns to. A step ahead of that has to last. Until then time goes on from
// where it was, at the monotonic clock's pace.
//
//	the wall clock                 believed
//	goes back                      at once
//	returns to where it was        at once, within returnWithin
//	steps ahead, 1 s at most       at once
//	steps ahead, maxJump at most   after settleAfter
//	steps ahead further            when confirm agrees, or after confirmAfter
//
// After a confirm that said that the clock is ahead, only one that agrees makes a long step
// believed, however long it lasts.
//
// All differences are durations from the first reading, held at 73 years in either direction: a
// clock that shows 1677 or 9999 is far off, and nothing wraps around.
//
//	wall    ─────────────╮        ╭─────────   what the wall clock shows
//	mono    ───────────────────────────────   runs evenly from the first reading
//	offset  0            │ -1 h   │ 0          wall - base - mono: constant between steps
//	               steps back   returns
//
// Uniqueness does not depend on any of this: positions only grow. It bounds how far an id's time is
// from the true time.
type clock struct {
	read    readClocks
	base    time.Time     // the first reading
	maxJump time.Duration // steps ahead up to this settle, longer ones need confirmation

	// Every reading loads both words. Readings that find no step store neither, so they stay in all
	// processors' caches.
	offset atomic.Int64 // believed wall - base - mono
	doubt  atomic.Bool  // a step ahead is not believed yet; written under mu

	// Locked by readings that find a step, or a doubt. Nothing is waited for while it is held.
	// The words above may be loaded without it. doubt is stored under it alone; offset is stored
	// without it by readings that find a small difference.
	mu     sync.Mutex
	was    [16]stepBack  // guarded by mu: the latest ones, newest first; see back
	front  time.Duration // guarded by mu: the latest wall - base from which it went back, or 0
	step   time.Duration // guarded by mu: the offset in doubt
	since  time.Duration // guarded by mu: the monotonic time at which the doubt began
	jumped bool          // guarded by mu: the step in doubt is longer than maxJump
	denied bool          // guarded by mu: and the authority has said that the clock is ahead
	silent bool          // guarded by mu: the jump is not reported yet
	said   time.Duration // guarded by mu: the monotonic time of the last report
}

// stepBack is what the clock was before it went back, and when: if the offset returns, the step was
// taken back.
type stepBack struct {
	offset time.Duration // the one before the step
	mono   time.Duration // the monotonic time of the step
}

// farAway bounds what a reading is believed to differ from the first one: 73 years. The sum of two
// such durations, and of a third, fits a time.Duration.
const farAway = time.Duration(1) << 61

// newClock returns a clock that believes its first reading, because there is nothing to compare it
// with. A clock that is wrong when the process starts gives ids a wrong time, and no id twice.
// Where the claim's authority tells the time, beginAt finds out.
func newClock(read readClocks, maxJump time.Duration) *clock {
	wall, mono := read()
	k := &clock{read: read, maxJump: maxJump}
	k.begin(wall, mono)
	return k
}

// begin makes wall, at the monotonic time mono, the first reading.
func (k *clock) begin(wall time.Time, mono time.Duration) {
	k.base, k.said = wall.Round(0), mono-reportPause
	k.offset.Store(-int64(mono))
	for i := range k.was {
		k.was[i] = stepBack{-mono, mono}
	}
}

// beginAt begins again at the time that another clock shows, if this one is ahead of it by more
// than maxJump: the next reading finds that the clock has jumped from there. It is called before
// the clock is shared, so it needs no lock.
func (k *clock) beginAt(authority time.Time) {
	if wall, mono := k.read(); wall.Sub(authority) > k.maxJump {
		k.begin(authority, mono)
	}
}

// systemClock returns a reader of the machine's clocks. One call of time.Now reads both.
func systemClock() readClocks {
	start := time.Now()
	return func() (time.Time, time.Duration) {
		t := time.Now()
		return t, t.Sub(start)
	}
}

// now returns the wall time, or what it would be without the step that is in doubt. It may be
// called by any goroutine, and blocks for a step's bookkeeping at most.
func (k *clock) now() time.Time {
	wall, mono := k.read()
	offset := k.offsetOf(wall, mono)
	switch step := offset - time.Duration(k.offset.Load()); {
	case step > clockSlack:
		return k.ahead(wall, offset, mono)
	case step < -clockSlack:
		k.back(offset, mono)
	case step > time.Millisecond || step < -time.Millisecond:
		// The wall clock is being adjusted. Racing readers store one of two readings, both
		// believed. Smaller differences are not stored, so that the word stays in the caches.
		k.offset.Store(int64(offset))
	}
	if k.doubt.Load() {
		k.settle(mono)
	}
	return wall
}

// offsetOf returns wall - base - mono, or farAway in either direction. It bounds the sum twice, so
// that no difference of two offsets wraps around.
func (k *clock) offsetOf(wall time.Time, mono time.Duration) time.Duration {
	since := min(max(wall.Sub(k.base), -2*farAway), 2*farAway) // Sub holds at 292 years
	return min(max(since-mono, -farAway), farAway)
}

// back believes a step back and notes where the wall clock was, so that returns finds it. Of
// several readers that find one step, the first notes it; the others find the offset moved. Where
// there are more steps than it can note, the highest one within returnWithin is kept besides the
// latest: that is where a clock that went back in small steps is most likely to return to.
func (k *clock) back(offset, mono time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := time.Duration(k.offset.Load())
	if offset >= before-clockSlack {
		return // another reader was faster
	}
	end := len(k.was) - 1
	oldest := k.was[end]
	copy(k.was[1:], k.was[:end])
	if oldest.offset > k.was[end].offset && mono-oldest.mono <= returnWithin {
		k.was[end] = oldest
	}
	k.was[0] = stepBack{before, mono}
	k.front = max(k.front, before+mono)
	k.offset.Store(int64(offset))
}

// ahead judges a step ahead. It returns wall if the step is believed, else the time without it. It
// reads offset again under mu, because another reader may have judged the same step meanwhile.
func (k *clock) ahead(wall time.Time, offset, mono time.Duration) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := time.Duration(k.offset.Load())
	if !k.returns(offset, mono) && !k.lasted(offset-before > k.maxJump, offset, mono) {
		return k.base.Add(before + mono)
	}
	k.offset.Store(int64(offset))
	k.doubt.Store(false)
	return wall
}

// returns reports whether the wall clock comes back to an instant that it has shown, or to where it
// would be had it not gone back. Under mu. The position has been there, so believing it drags
// nothing ahead.
func (k *clock) returns(offset, mono time.Duration) bool {
	if offset+mono <= k.front+clockSlack {
		return true
	}
	for _, was := range k.was {
		if agree(offset, was.offset) && mono-was.mono <= returnWithin {
			return true
		}
	}
	return false
}

// lasted reports whether the step has lasted, and begins to wait for that if it is a new one. Under
// mu. A reading that disagrees with the step in doubt by more than clockSlack begins anew, so a
// clock that jumps about is never believed.
func (k *clock) lasted(jumped bool, offset, mono time.Duration) bool {
	if !k.doubt.Load() || !agree(offset, k.step) {
		k.step, k.since = offset, mono
		k.jumped, k.silent, k.denied = jumped, jumped, false
		k.doubt.Store(true)
	}
	if k.jumped {
		return !k.denied && mono-k.since >= confirmAfter
	}
	return mono-k.since >= settleAfter
}

// agree reports whether two offsets differ by clockSlack at most.
func agree(a, b time.Duration) bool { return a-b <= clockSlack && b-a <= clockSlack }

// settle ends a doubt, because a reading at mono shows the believed time again: the step is gone. A
// reading from before the doubt, by a goroutine that was interrupted, says nothing about the step.
func (k *clock) settle(mono time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if mono >= k.since {
		k.doubt.Store(false)
	}
}

// jump returns how far the wall clock is ahead of the believed time because of a jump that needs
// confirmation, 0 if there is none.
func (k *clock) jump() time.Duration {
	wall, mono := k.read()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.doubt.Load() || !k.jumped {
		return 0
	}
	return max(0, k.offsetOf(wall, mono)-time.Duration(k.offset.Load()))
}

// report returns true once for every jump that is held back for so long that reportPause has passed
// since the last report. Whether a caller reports it is the caller's decision, so that nothing is
// logged under a lock. The padder and refreshes of the tick cache call it, and it costs one load
// where there is no doubt.
func (k *clock) report() bool {
	if !k.doubt.Load() {
		return false
	}
	_, mono := k.read()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.silent || mono-k.said < reportPause {
		return false
	}
	k.silent, k.said = false, mono
	return true
}

// confirm ends a doubt if authority, a time read from elsewhere just now, agrees with the wall
// clock to within maxJump, and reports whether it does. maxJump is wide, because the two clocks may
// differ and the answer has travelled; a jump that matters is longer. Once the authority has said
// that the wall clock is ahead, the jump's age does not make it believed.
func (k *clock) confirm(authority time.Time) bool {
	wall, mono := k.read()
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := wall.Sub(authority); d > k.maxJump || d < -k.maxJump {
		k.denied = k.denied || d > 0
		return false
	}
	k.offset.Store(int64(k.offsetOf(wall, mono)))
	k.doubt.Store(false)
	return true
}
