package lincheck

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// errNetwork is what a call of the authority fails with that is refused, or whose answer is lost.
var errNetwork = errors.New("network down")

// troubles are what may happen to a call.
var troubles = [...]string{"refused", "answer lost", "delayed request", "delayed answer"}

// trouble is what happens to the calls of one authority: to request and answer separately.
type trouble struct {
	down atomic.Bool // everything is refused
	met  [len(troubles)]atomic.Int64

	mu  sync.Mutex
	rnd *rand.Rand // guarded by mu
}

// newTrouble makes the calls of m meet troubles.
func newTrouble(m *claimtest.Memory, rnd *rand.Rand) *trouble {
	u := &trouble{rnd: rnd}
	m.Set(func(m *claimtest.Memory) {
		m.Before = func(ctx context.Context, _ claimtest.Call) error { return u.meet(ctx, 0, u.down.Load()) }
		m.After = func(ctx context.Context, _ claimtest.Call) error { return u.meet(ctx, 1, false) }
	})
	return u
}

// meet is what happens to a request, 0, or to an answer, 1: it fails, is delayed, or nothing.
func (u *trouble) meet(ctx context.Context, part int, fails bool) error {
	u.mu.Lock()
	what, d := u.rnd.IntN(6), 1+time.Duration(u.rnd.Int64N(int64(20*time.Millisecond)))
	u.mu.Unlock()
	switch {
	case fails || what == 0:
		u.met[part].Add(1)
		return errNetwork
	case what == 1:
		u.met[2+part].Add(1)
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
