package uid_test

import (
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
		resume, closed := make(chan struct{}), make(chan error)
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
		close(resume)
		if err := <-closed; err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
}
