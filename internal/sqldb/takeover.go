package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

// silence is how long a statement may take until the other hosts are asked whether one of them has
// taken over, and the time from one such question to the next.
const silence = 750 * time.Millisecond

// errTakenOver is the error of a statement whose host keeps silent while another one has taken
// over. Whether the statement was carried out is unknown.
var errTakenOver = errors.New("the host keeps silent, and another one can be written to")

// several is the driver of a Hosts, by which Open finds that from the pool.
type several struct {
	driver.Driver
	hosts *Hosts
}

// Driver returns the driver of the first host.
func (h *Hosts) Driver() driver.Driver { return several{h.hosts[0].Connector.Driver(), h} }

// move notes that the host n can be written to.
func (h *Hosts) move(n int) {
	if h.last.Swap(int64(n)) != int64(n) {
		h.moves.Add(1)
	}
}

// watch returns a ctx for one statement, and answered, which the caller calls with its error when
// it has ended. A statement may take as long as its ctx permits, unless another host takes over:
// then the ctx ends, and answered returns errTakenOver. So a request that a stopped or unreachable
// server has does not hold its caller when there is a new primary. It returns that also when the
// statement has succeeded: a COMMIT of PostgreSQL that is cancelled while it waits for a standby
// succeeds, and the standby may have taken over without it. A nil h watches nothing.
func (h *Hosts) watch(ctx context.Context) (_ context.Context, answered func(error) error) {
	if h == nil {
		return ctx, func(err error) error { return err }
	}
	within, cancel := context.WithCancelCause(ctx)
	moves, done := h.moves.Load(), make(chan struct{})
	timer := time.AfterFunc(silence, func() {
		defer close(done)
		for !h.takenOver(within, moves) {
			if !backoff.Wait(within, silence) {
				return
			}
		}
		cancel(errTakenOver)
	})
	return within, func(err error) error {
		cancel(nil)
		if !timer.Stop() {
			<-done
		}
		if errors.Is(context.Cause(within), errTakenOver) {
			return errTakenOver
		}
		return err
	}
}

// takenOver reports whether another host has taken over since moves was read: it can be written to,
// and the one that was connected to last refuses or keeps silent for hostPatience. Where several
// can be written to, a slow one is left in peace. One goroutine at a time asks. The others do not
// wait for it, and learn of it by moves.
func (h *Hosts) takenOver(ctx context.Context, moves int64) bool {
	if h.moves.Load() == moves && h.asking.TryLock() {
		defer h.asking.Unlock()
		last := int(h.last.Load())
		next := h.writable(ctx, func(n int) bool { return n != last })
		if next >= 0 && h.writable(ctx, func(n int) bool { return n == last }) < 0 &&
			ctx.Err() == nil {
			h.move(next)
		}
	}
	return h.moves.Load() != moves
}

// writable returns the index of a host among those that fit says, which can be written to and says
// so within hostPatience, and -1 if there is none. It asks them at once.
func (h *Hosts) writable(ctx context.Context, fits func(n int) bool) int {
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	answers := make(chan int)
	out, found := 0, -1
	for n := range h.hosts {
		if !fits(n) {
			continue
		}
		out++
		go func() {
			c, err := h.hosts[n].connect(ctx)
			if err != nil {
				answers <- -1
				return
			}
			_ = c.Close()
			answers <- n
		}()
	}
	for range out {
		if n := <-answers; n >= 0 {
			found = n
			cancel() // the others
		}
	}
	return found
}
