package uid_test

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// succeed gives some worlds an era that begins while they last, of other widths and another tick.
func (w *world) succeed(rnd *rand.Rand, length time.Duration) (err error) {
	w.tick, w.seqBits = w.layout.Tick, w.layout.SeqBits
	if rnd.IntN(3) == 0 {
		l := w.layout
		l.Epoch, l.Tick = time.Time{}, pick(rnd, time.Second, 200*time.Millisecond, 10*time.Millisecond)
		l.SeqBits += rnd.IntN(3) - min(2, l.SeqBits-1)
		w.later = []bitsalloc.Era{{From: w.start.Add(2*time.Second + upTo(rnd, length)), Layout: l}}
		w.tick, w.seqBits = max(w.tick, l.Tick), min(w.seqBits, l.SeqBits)
	}
	w.eras, err = bitsalloc.NewEras(w.layout, w.later...)
	return err
}

// BindLayout has a life's claims be for the layouts that it knows.
func (l *life) BindLayout(layout string) assigner.Assigner {
	l.layouts = layout
	return l
}

// learns draws whether a life of a process knows the later era: each does that is started when the
// faults are over.
func (l *life) learns(calm bool) {
	w := l.p.w
	l.o = l.p.o
	if calm || w.random(11, uint64(l.p.n), uint64(l.p.lives)).IntN(2) == 0 {
		l.o.Eras, l.knows = w.later, true
	}
	l.eras, _ = bitsalloc.NewEras(w.layout, l.o.Eras...) // run has made the longest list
}

// unknowing reports whether a call failed because the life does not know an era that has begun.
func (l *life) unknowing(err error) bool { return !l.knows && errors.Is(err, assigner.ErrSuperseded) }

// cutOff reports whether a life's window ends where an era begins that it does not know. The
// authority, whose clock may be hours behind, grants no more.
func (l *life) cutOff() bool {
	return !l.knows && len(l.p.w.later) > 0 && l.g.Stats().WindowUntil.Equal(l.p.w.later[0].From)
}

// unassigned reports whether an Assign failed for what no repetition changes soon.
func unassigned(err error) bool {
	return errors.Is(err, assigner.ErrWorkersExhausted) || errors.Is(err, assigner.ErrSuperseded) ||
		errors.Is(err, assigner.ErrLayoutMismatch)
}
