package uid_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestCloseWhilePutFuncStands calls a generator whose Close waits for a put function. Callers may
// get what the ring holds, and then ErrClosed; nothing is composed.
func TestCloseWhilePutFuncStands(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 512} {
		synctest.Test(t, func(t *testing.T) {
			resume, closed := make(chan struct{}), make(chan error, 1)
			c := cachedAt(t, uid.Both{RunLength: run, BoostPower: uid.NoBoost, PutFunc: func(uid.ID) error {
				<-resume
				return nil
			}}, uid.NewTestClock())
			time.Sleep(time.Second) // the padder has found the ring full
			go func() { closed <- c.Close() }()
			synctest.Wait()
			before := c.Stats()
			if !errors.Is(before.Err, uid.ErrClosed) {
				t.Fatalf("Stats().Err = %v, want ErrClosed", before.Err)
			}
			n, err := c.Fill(t.Context(), make([]uid.ID, 20_000))
			if !errors.Is(err, uid.ErrClosed) || int64(n) > before.Len || !c.Stats().Position.Equal(before.Position) {
				t.Errorf("runs of %d: Fill() = %d, %v with %d ids in the ring, want no more and "+
					"ErrClosed", run, n, err, before.Len)
			}
			select {
			case err := <-closed:
				t.Errorf("Close() = %v while the put function was still at work", err)
			default:
			}
			close(resume)
			if err := <-closed; err != nil || c.Stats().Len != 0 {
				t.Errorf("Close() = %v, %d ids left in the ring, want none", err, c.Stats().Len)
			}
			if id, err := c.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
				t.Errorf("Next() = %d, %v, want ErrClosed", id, err)
			}
		})
	}
}

// TestCloseWakes closes generators while callers wait: for a tick, for the bound, for an extension
// that takes its time. They hear of it at once.
func TestCloseWakes(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for name, tc := range map[string]struct {
			o     uid.Both
			until time.Duration
		}{
			"clock":  {uid.Both{MaxLead: time.Nanosecond, TakePolicy: uid.TakeWait}, time.Hour},
			"window": {uid.Both{}, 8 * time.Second},
		} {
			a := newMemory(tc.until)
			a.Before = before(claimtest.OpExtend, hangs)
			bubble(t, kind, a, tc.o, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				failed := make(chan error, 1)
				go func() {
					for ids := make([]uid.ID, 1024); ; {
						if _, err := g.Fill(t.Context(), ids); err != nil {
							failed <- err
							return
						}
					}
				}()
				// In the middle of a tick, or of the attempt to extend.
				if time.Sleep(500 * time.Millisecond); name == "window" && kind == "default" {
					time.Sleep(8 * time.Second)
				}
				synctest.Wait()
				at := time.Now()
				mustClose(t, g)
				if err := <-failed; !errors.Is(err, uid.ErrClosed) || time.Since(at) != 0 {
					t.Errorf("%s, waiting for the %s: %v after %v, want ErrClosed at once",
						kind, name, err, time.Since(at))
				}
			})
		}
	}
}

// TestCloseWakesPutFunc closes a generator whose put function waits for ids that only the clock can
// bring: Close ends the wait.
func TestCloseWakesPutFunc(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, ended := make(chan *uid.Cached, 1), make(chan error, 1)
		c := cachedAt(t, uid.Both{TakePolicy: uid.TakeWait, BoostPower: uid.NoBoost,
			MaxLead: time.Second, PutFunc: func(uid.ID) error {
				c := <-made
				for ids := make([]uid.ID, 8192); ; {
					if _, err := c.Fill(context.Background(), ids); err != nil {
						ended <- err
						return err
					}
				}
			}}, uid.NewTestClock())
		made <- c
		time.Sleep(5*time.Second + 500*time.Millisecond)
		synctest.Wait()
		if c.Stats().Waits == 0 {
			t.Fatal("the put function does not wait")
		}
		start := time.Now()
		if err := c.Close(); err != nil || time.Since(start) != 0 {
			t.Errorf("Close() = %v after %v, want nil at once", err, time.Since(start))
		}
		if err := <-ended; !errors.Is(err, uid.ErrClosed) {
			t.Errorf("the put function got %v, want ErrClosed", err)
		}
	})
}

// TestDefaultCloseCovers closes a Default while callers take ids of ticks of a nanosecond: what
// Close gives back begins after the last id that a caller got.
func TestDefaultCloseCovers(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 50, WorkerBits: 1, SeqBits: 12, Tick: time.Nanosecond,
		Epoch: time.Now().Add(-time.Hour).Truncate(time.Second)}
	for range 100 / scale {
		a := &claimtest.Memory{Length: claimtest.Endless}
		d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{Layout: l}, uid.NewTestClock())
		calls, newest := uid.Takers(t, d, 3)
		for calls.Load() < 200 {
			runtime.Gosched()
		}
		mustClose(t, d)
		last := d.Parse(newest()).Time
		if used := a.Calls(claimtest.OpRelease)[0].Asked; !used.After(last) {
			t.Fatalf("Close gives back what is after %v, and a caller got an id of %v", used, last)
		}
	}
}
