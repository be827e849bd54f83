package uid_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/uid"
)

// TestCloseStopsSingleRuns calls a generator whose Close waits for a put function. Runs of one id are taken without a lane that could be sealed:
// the callers have to look for themselves, or they would empty the ring first.
func TestCloseStopsSingleRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resume, closed := make(chan struct{}), make(chan error, 1)
		c := cachedAt(t, uid.Options{RunLength: 1, BoostPower: uid.NoBoost, PutFunc: func(uid.ID) error {
			<-resume
			return nil
		}}, uid.NewTestClock())
		time.Sleep(time.Second) // the padder has found the ring full
		go func() { closed <- c.Close() }()
		synctest.Wait()
		if s := c.Stats(); s.Len == 0 || !errors.Is(s.Err, uid.ErrClosed) {
			t.Fatalf("%d ids in the ring, Stats().Err = %v, want some and ErrClosed", s.Len, s.Err)
		}
		if id, err := c.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
			t.Errorf("Next() = %d, %v, want ErrClosed", id, err)
		}
		if n, err := c.Fill(t.Context(), make([]uid.ID, 10)); n != 0 || !errors.Is(err, uid.ErrClosed) {
			t.Errorf("Fill() = %d, %v, want none and ErrClosed", n, err)
		}
		select {
		case err := <-closed:
			t.Errorf("Close() = %v while the padder was still at work", err)
		default:
		}
		close(resume)
		if err := <-closed; err != nil || c.Stats().Len != 0 {
			t.Errorf("Close() = %v, %d ids left in the ring, want none", err, c.Stats().Len)
		}
	})
}

// TestCloseWakes closes generators while callers wait: for a tick, for the bound, for an extension that takes its time. They hear of it at once.
func TestCloseWakes(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for name, tc := range map[string]struct {
			o     uid.Options
			until time.Duration
		}{
			"clock":  {uid.Options{MaxLead: time.Nanosecond, TakePolicy: uid.Wait}, time.Hour},
			"window": {uid.Options{}, 8 * time.Second},
		} {
			a := &authority{from: -1, until: tc.until, extend: func(ctx context.Context, _ time.Duration) (time.Duration, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			}}
			withAuthority(t, kind, a, tc.o, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
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
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
				if err := <-failed; !errors.Is(err, uid.ErrClosed) || time.Since(at) != 0 {
					t.Errorf("%s, waiting for the %s: %v behind %v, want ErrClosed at once", kind, name, err, time.Since(at))
				}
			})
		}
	}
}
