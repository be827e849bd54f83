package lease_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/winlog"
)

// rig is a move while fleets run on both stores. Its stores are reached by doors, one for each process.
type rig struct {
	old, young *memory
	windows    winlog.Log
	processes  int64
	frozen     sync.RWMutex // held to write while a backup is restored
}

// door is a store as one process reaches it: each call takes its time, before it is carried out and
// after, and may take so long that the process has given it up. A call that was given up lands late.
type door struct {
	*memory
	rig  *rig
	rand *rand.Rand
	mu   sync.Mutex // of rand
	slow time.Duration
}

func (r *rig) door(m *memory, seed uint64, slow time.Duration) *door {
	return &door{memory: m, rig: r, rand: rand.New(rand.NewPCG(seed, 1)), slow: slow}
}

func (d *door) wait() {
	d.mu.Lock()
	n := d.rand.IntN(8)
	pause := time.Duration(d.rand.Int64N(int64(20 * time.Millisecond)))
	if n == 0 && d.slow > 0 { // the process is paused
		pause = time.Duration(d.rand.Int64N(int64(d.slow)))
	}
	d.mu.Unlock()
	time.Sleep(pause)
}

func (d *door) List(context.Context) ([]lease.Entry, error) {
	d.wait()
	defer d.wait()
	d.rig.frozen.RLock()
	defer d.rig.frozen.RUnlock()
	return d.memory.List(context.Background())
}

func (d *door) Get(_ context.Context, name string) (lease.Entry, error) {
	d.wait()
	defer d.wait()
	d.rig.frozen.RLock()
	defer d.rig.frozen.RUnlock()
	return d.memory.Get(context.Background(), name)
}

func (d *door) Put(_ context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	d.wait()
	defer d.wait()
	d.rig.frozen.RLock()
	defer d.rig.frozen.RUnlock()
	return d.memory.Put(context.Background(), old, value)
}

const moveWindow = 10 * time.Minute

// process claims worker ids through a door until stop is closed: it extends, gives back, forgets its
// claims, and logs each window before it counts. A process that was refused goes on with the window it
// has.
func (r *rig) process(tb testing.TB, d *door, number int64, stop chan struct{}) {
	watch := winlog.Watch(bound(tb, d, moveOne, &lease.Options{Window: moveWindow}), func(w winlog.Window) {
		w.Claim += number << 32
		r.windows.Put(w)
	})
	random := rand.New(rand.NewPCG(uint64(number), 2))
	pause := func(most time.Duration) bool {
		select {
		case <-stop:
			return false
		case <-time.After(time.Duration(random.Int64N(int64(most)))):
			return true
		}
	}
	for pause(time.Minute) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		c, err := watch.Assign(ctx, 63)
		cancel()
		if err != nil {
			continue // paused for too long, closed, or moved
		}
		for lost := false; !lost && pause(moveWindow/2); {
			switch random.IntN(6) {
			case 0:
				_, end := c.Window()
				_ = c.Release(context.Background(), time.Now().Add(min(0, time.Until(end))))
				lost = true
			case 1:
				lost = true // the process dies
			default:
				_, err := c.Extend(context.Background(), time.Now().Add(moveWindow))
				lost = errors.Is(err, assigner.ErrClaimLost)
			}
		}
	}
}

// has reports whether there is an entry.
func (m *memory) has(name string) (there bool) {
	m.set(func() { there = m.entries[name].Version != "" })
	return there
}

// killed is a store of a mover that is killed at its n-th call of all: the call is carried out or not, and
// no other call of this mover is.
type killed struct {
	*door
	calls *int
	n     int
	done  bool
}

var errKilled = fmt.Errorf("%w: the mover is dead", lease.ErrRefused)

func (k killed) call(f func() error) error {
	*k.calls++
	if *k.calls < k.n {
		return f()
	}
	if *k.calls == k.n && k.done {
		_ = f()
	}
	return errKilled
}

func (k killed) List(ctx context.Context) (all []lease.Entry, err error) {
	err = k.call(func() error { all, err = k.door.List(ctx); return err })
	return all, err
}

func (k killed) Get(ctx context.Context, name string) (e lease.Entry, err error) {
	err = k.call(func() error { e, err = k.door.Get(ctx, name); return err })
	return e, err
}

func (k killed) Put(ctx context.Context, old lease.Entry, value []byte) (e lease.Entry, err error) {
	err = k.call(func() error { e, err = k.door.Put(ctx, old, value); return err })
	return e, err
}

// move runs Move, killed at its n-th call; 0: not killed.
func (r *rig) move(tb testing.TB, seed uint64, n int, done bool) error {
	calls := 0
	k := killed{door: r.door(r.old, seed, moveWindow/2), calls: &calls, n: n, done: done}
	if n == 0 {
		k.n = 1 << 30
	}
	to := k
	to.door = r.door(r.young, seed+1, moveWindow/2)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	_, err := lease.Move(ctx, bound(tb, struct {
		lease.Store
		fmt.Stringer
	}{k, named{name: "old"}}, moveOne, nil), bound(tb, struct {
		lease.Store
		fmt.Stringer
	}{to, named{name: "new"}}, moveOne, nil), nil)
	return err
}

// TestMoveFleet: fleets run on both stores, processes pause and wake up, the mover is killed at each of its
// calls and run again, and the source is restored to before the move and moved again. No two windows of a
// worker id overlap.
func TestMoveFleet(t *testing.T) {
	t.Parallel()
	seeds := 20
	if testing.Short() {
		seeds = 12
	}
	kills, granted := 0, [2]int{}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := &rig{old: &memory{}, young: &memory{}}
			stop := make(chan struct{})
			var wg sync.WaitGroup
			start := func(m *memory, n int) {
				for range n {
					r.processes++
					number := r.processes
					d := r.door(m, uint64(seed)<<32|uint64(number), 2*moveWindow)
					wg.Go(func() { r.process(t, d, number, stop) })
				}
			}
			start(r.old, 6)
			time.Sleep(time.Hour)
			restore := r.old.backup()
			time.Sleep(moveWindow / 2)
			for n := 1; ; n++ {
				kills++
				err := r.move(t, uint64(seed*1000+n), n, (seed+n)%2 == 0)
				// A process that is the first on the target would make it a universe of its own.
				if r.processes == 6 && r.young.has(lease.HeaderName) {
					start(r.young, 6)
				}
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("seed %d: the move killed at call %d = %v", seed, n, err)
				}
			}
			time.Sleep(time.Duration(seed%3) * moveWindow / 4)
			// No process may call the source between its restore and the same move.
			r.frozen.Lock()
			restore()
			_, err := lease.Move(t.Context(), bound(t, named{r.old, "old"}, moveOne, nil),
				bound(t, named{r.young, "new"}, moveOne, nil), nil)
			r.frozen.Unlock()
			if err != nil {
				t.Errorf("seed %d: the same move after a restore = %v", seed, err)
			}
			time.Sleep(time.Hour)
			close(stop)
			wg.Wait()
			for _, w := range r.windows.All() {
				granted[min(1, w.Claim>>32/7)]++
			}
			if err := r.windows.Overlap(); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
	t.Logf("%d moves, all but %d killed; windows in the source and the target: %d", kills, seeds, granted)
	if granted[0] < 5*seeds || granted[1] < 5*seeds {
		t.Errorf("%d windows in the source and the target, want %d or more in each", granted, 5*seeds)
	}
}
