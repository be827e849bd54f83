package uid_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// take takes ids until the life is over. An endless caller's calls have no deadline.
func (l *life) take(rnd *rand.Rand, endless bool) {
	w, p := l.p.w, l.p
	buf := make([]uid.ID, p.size)
	for {
		time.Sleep(upTo(rnd, p.pause))
		if w.calm() {
			time.Sleep(upTo(rnd, 10*p.pause))
		}
		l.stand()
		var over bool
		w.set(func() { over = l.over })
		if over {
			return
		}
		patience := upTo(rnd, pick(rnd, time.Millisecond, time.Second, 5*time.Second))
		if endless {
			patience = 1 << 62 // the call ends with an id, or with the generator
		}
		ctx, cancel := context.WithTimeout(l.hung, patience)
		ids, begin := buf[:1+rnd.IntN(p.size)], l.begin()
		n, err := l.call(ctx, ids)
		cancel()
		took := time.Since(begin.at)
		if !l.record(ids[:n], begin) {
			return
		}
		var honest bool
		w.set(func() { honest = l.honest })
		if honest && took > patience {
			w.problem("process %d: a call took %v, its ctx had %v", p.n, took, patience)
		}
		if !allowed(err) && !l.unknowing(err) {
			w.problem("process %d (%s): %v", p.n, p.kind, err)
		}
	}
}

// probe looks at Health and Stats beside calls. What they say before and after a call of the same
// instant, the call finds.
func (l *life) probe(rnd *rand.Rand) {
	w, p := l.p.w, l.p
	last := l.g.Stats()
	for {
		time.Sleep(upTo(rnd, 2*time.Second))
		l.stand()
		var over bool
		w.set(func() { over = l.over })
		if over {
			return
		}
		begin := l.begin()
		s := l.g.Stats()
		switch {
		case s.Issued < last.Issued, s.Tail < last.Tail, s.Cursor < last.Cursor, s.Extends < last.Extends,
			s.Waits < last.Waits, s.RunsTaken < last.RunsTaken, s.Claims < last.Claims:
			w.problem("process %d (%s): a counter fell from %+v to %+v", p.n, p.kind, last, s)
		case s.Len < 0 || s.Len > s.Cap || s.Lag < 0 || s.Lead < 0 || s.ClaimsLost > s.Claims:
			w.problem("process %d (%s): %+v", p.n, p.kind, s)
		}
		last = s
		if p.o.TakeFunc != nil {
			continue // it may say anything
		}
		ctx, cancel := context.WithTimeout(l.hung, time.Nanosecond)
		id, err := l.g.Next(ctx)
		cancel()
		if err == nil && !l.record([]uid.ID{id}, begin) {
			return
		}
		after := l.g.Stats()
		if time.Since(begin.at) > time.Nanosecond {
			continue
		}
		before, now := s.Health(), after.Health()
		switch {
		// while Close runs, a call may get an id
		case err == nil && before.Status == uid.Down && now.Status == uid.Down &&
			!errors.Is(after.Err, uid.ErrClosed):
			w.problem("process %d (%s): an id of a generator that is down: %s", p.n, p.kind, now.Reason)
		case before.Status != uid.Down && now.Status != uid.Down && lasting(err):
			w.problem("process %d (%s): it is %s, and a call fails with %v", p.n, p.kind, now.Status, err)
		}
	}
}

// lasting reports whether a call failed for what no caller waits out.
func lasting(err error) bool {
	for _, e := range []error{assigner.ErrClaimLost, uid.ErrClaimExpired, assigner.ErrSuperseded, uid.ErrClosed,
		uid.ErrExhausted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// call takes ids: one by Next, several by Fill.
func (l *life) call(ctx context.Context, ids []uid.ID) (n int, err error) {
	if len(ids) > 1 {
		return l.g.Fill(ctx, ids)
	}
	if ids[0], err = l.g.Next(ctx); err != nil {
		return 0, err
	}
	return 1, nil
}

// allowed reports whether a call may fail so.
func allowed(err error) bool {
	for _, e := range []error{nil, uid.ErrEmpty, uid.ErrLead, uid.ErrClockBack, assigner.ErrClaimLost,
		uid.ErrClaimExpired, uid.ErrClosed, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// beginning is what is known when a call begins.
type beginning struct {
	at       time.Time
	returned returned
}

func (l *life) begin() (b beginning) {
	l.p.w.set(func() { b = beginning{time.Now(), l.sequence.begin()} })
	return b
}

// record checks the ids that a call returned and notes them. It returns false if the process has
// died meanwhile: nobody has got the ids.
func (l *life) record(ids []uid.ID, begin beginning) bool {
	w, o, orders := l.p.w, l.o, make([]int64, len(ids))
	for i, id := range ids {
		orders[i] = l.order(id)
	}
	wrong := ""
	w.mu.Lock()
	dead, honest, claims := l.dead, l.honest, l.claims
	if !dead {
		w.ids = append(w.ids, ids...)
		wrong = l.sequence.add(begin.returned, orders)
		if len(ids) > 0 && o.Lanes == 1 { // which of several lanes depends on where stacks lie
			w.trace = w.trace*31 + uint64(ids[0])
		}
	}
	w.mu.Unlock()
	if dead {
		return false
	}
	if wrong != "" {
		w.problem("process %d (%s): %s", l.p.n, l.p.kind, wrong)
	}
	now := time.Now()
	for _, id := range ids {
		p := l.g.Parse(id)
		until := p.Time.Add(l.eras.Of(int64(id)).Layout().Tick)
		covered := false
		for _, c := range claims {
			covered = covered || c.covers(p.Worker, p.Time, until)
		}
		switch {
		case !covered:
			w.problem("process %d: %+v is in none of its windows", l.p.n, p)
		case l.eras.At(until.Add(-1)) != l.eras.Of(int64(id)):
			w.problem("process %d: %+v is of an era that is over before its tick is", l.p.n, p)
		case honest && o.MaxLead > 0 && p.Time.After(now.Add(o.MaxLead)):
			w.problem("process %d: %+v leads by %v, MaxLead is %v", l.p.n, p, p.Time.Sub(now), o.MaxLead)
		case honest && l.p.kind == "cached" && begin.at.Sub(p.Time) > max(o.MaxLag, 2*w.tick,
			time.Second):
			w.problem("process %d: %+v lags by %v, MaxLag is %v", l.p.n, p, begin.at.Sub(p.Time), o.MaxLag)
		case honest && l.p.kind == "default" && !until.After(begin.at):
			w.problem("process %d: %+v is of a tick that was over when the call began", l.p.n, p)
		}
	}
	return true
}

// order returns what rises from id to id: the id itself, except that Default may go on in the same
// tick with a smaller worker id.
func (l *life) order(id uid.ID) int64 {
	if l.p.kind == "cached" {
		return int64(id)
	}
	p := l.g.Parse(id)
	position, _ := l.eras.Of(int64(id)).Compose(p.Tick, 0, p.Seq)
	return position
}
