package assignertest

import (
	"context"
	"errors"
	"time"

	"github.com/uidring/uidring/assigner"
)

// burst is how far ahead of the clock a generator gets that hands out ids without a bound.
const burst = 12 * time.Second

// checkRestart: a process stamps as far ahead as its claim lets it, and crashes or ends. The next
// one starts at once, and repeats nothing.
func checkRestart(ctx context.Context, e env) {
	for round := range 6 {
		c := e.assign(ctx)
		until := exhaust(ctx, c)
		switch round % 3 {
		case 0:
			e.crash(c)
		case 1:
			release(ctx, c, until)
		case 2:
			release(ctx, c, time.Time{})
		}
	}
}

// exhaust extends c as far as it goes and returns the end of what a burst stamps in it.
func exhaust(ctx context.Context, c assigner.Claim) time.Time {
	from, until := c.Window()
	if until.IsZero() {
		begin := time.Now()
		if from.After(begin) {
			begin = from
		}
		return begin.Add(burst)
	}
	until = extend(ctx, c, until.Add(burst))
	return extend(ctx, c, until.Add(burst))
}

// checkClockJumps: the authority's clock jumps back and forth while claims are made, extended,
// given back and forgotten. Claims may get lost, and no instant of a worker id has two owners.
func checkClockJumps(ctx context.Context, e env) {
	process, step := e.Clock(e.tb)
	var open []assigner.Claim
	const s, h = time.Second, time.Hour
	for i, d := range []time.Duration{s, -s, h, h, -3 * h, 20 * h, -40 * h, 0, 25 * h, 25 * h} {
		for range 3 {
			if n := len(open); e.Single && n > 0 && n%2 == 0 {
				e.crash(open[n-1])
			} else if e.Single && n > 0 {
				release(ctx, open[n-1], stamped(open[n-1]))
			}
			c, err := e.watch(process()).Assign(ctx, e.MaxWorker)
			if err != nil {
				failf("Assign after a clock step: %w", err)
			}
			open = append(open, c)
			stretch(ctx, c)
		}
		step(d)
		if e.Single {
			continue
		}
		for j, c := range open {
			if (i+j)%4 == 0 && c != nil {
				stretch(ctx, c)
			}
		}
		if i%2 == 0 {
			release(ctx, open[i], stamped(open[i]))
			open[i] = nil
		}
	}
}

// stretch extends c, which may be lost, or end far beyond a clock that went back.
func stretch(ctx context.Context, c assigner.Claim) {
	_, until := c.Window()
	if until.IsZero() {
		return
	}
	if _, err := c.Extend(ctx, until.Add(time.Minute)); err != nil &&
		!errors.Is(err, assigner.ErrClaimLost) && !errors.Is(err, assigner.ErrBeyondReach) {
		failf("Extend after a clock step: %w, want no error, ErrClaimLost or ErrBeyondReach", err)
	}
}

// checkRanges: an Assigner with a range keeps to it, and so do its neighbours on the same
// authority.
func checkRanges(ctx context.Context, e env) {
	const first, last = 5, 7
	process := e.Ranges(e.tb)
	full := 0
	for range last - first + 3 {
		c, err := e.watch(process(first, last)).Assign(ctx, e.MaxWorker)
		switch {
		case errors.Is(err, assigner.ErrWorkersExhausted):
			full++
		case err != nil:
			failf("Assign in a range = %w, want a claim or ErrWorkersExhausted", err)
		case c.Worker() < first || c.Worker() > last:
			failf("worker id = %d, want %d..%d, the range", c.Worker(), first, last)
		}
	}
	if full != 2 {
		failf("%d claims in a range of %d worker ids succeeded, want %d",
			last-first+3-full, last-first+1, last-first+1)
	}
	c, err := e.watch(process(last+1, last+1)).Assign(ctx, e.MaxWorker)
	if err != nil {
		failf("Assign in a range next to one that is full: %w", err)
	}
	if c.Worker() != last+1 {
		failf("worker id = %d, want %d, all of the range", c.Worker(), last+1)
	}
	for _, r := range [][2]int64{{last, first}, {-1, 3}, {first, e.MaxWorker + 1}} {
		if c, err := process(r[0], r[1]).Assign(ctx, e.MaxWorker); err == nil {
			failf("Assign in the range %d to %d = worker %d, want an error", r[0], r[1],
				c.Worker())
		}
	}
}
