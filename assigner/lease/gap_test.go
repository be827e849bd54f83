package lease_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
)

// TestRestoreAfterGap: the next window of an owner whose slot was deleted begins a reach from then. A
// restore that forgets this window is repaired with the store's reach and a Window. The longest Window
// and the longest lead are too short, because a generator with a MaxLead waits for that window.
func TestRestoreAfterGap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reach time.Duration
		twice bool
	}{{25 * time.Minute, true}, {reach + 20*time.Minute, false}} {
		synctest.Test(t, func(t *testing.T) {
			s := told{&memory{}, &clock{}}
			var log winlog.Log
			watch := func(serial int64) assigner.Assigner {
				return winlog.Watch(newAssigner(t, s, nil), func(w winlog.Window) {
					w.Claim += serial << 32
					log.Put(w)
				})
			}
			a, b := watch(1), watch(2)
			owner := assign(t, a)
			if err := assign(t, b).Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			restore := s.backup() // which has worker 1, free
			s.set(func() { delete(s.entries, slot0) })
			_, err := owner.Extend(t.Context(), time.Now().Add(time.Hour))
			if !errors.Is(err, assigner.ErrWentBack) {
				t.Fatalf("Extend = %v, want ErrWentBack", err)
			}
			time.Sleep(10 * time.Second)
			if c := assign(t, a); c.Worker() != 1 {
				t.Fatalf("the owner has worker %d, want 1", c.Worker())
			}
			restore()
			if err := newAssigner(t, s, nil).Restore(t.Context(), 1, tt.reach, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(tt.reach + time.Second)
			both := []assigner.Claim{assign(t, watch(3)), assign(t, watch(4))}
			for range 25 * 4 {
				for _, c := range both {
					if _, err := c.Extend(t.Context(), time.Now().Add(20*time.Minute)); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(15 * time.Minute)
			}
			if err := log.Overlap(); (err != nil) != tt.twice {
				t.Errorf("repaired with a reach of %v: %v, want windows that overlap: %v", tt.reach, err, tt.twice)
			}
		})
	}
}
