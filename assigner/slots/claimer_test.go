package slots_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/slots"
)

// TestLateTaken: an Assign whose window has passed before it read the header, and whose new slot
// another process has claimed since, takes the next worker id at once.
func TestLateTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		met := s.once(1, "put", slots.SlotPrefix+"1", func(run func() error) error {
			err := run()
			time.Sleep(2 * time.Second)
			if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 {
				t.Errorf("the other has worker %d, want 1", c.Worker())
			}
			return err
		})
		start := time.Now()
		c := assign(t, newAssigner(t, s, &slots.Options{Window: time.Second}))
		if took := time.Since(start); c.Worker() != 2 || took > 3*time.Second || !*met {
			t.Errorf("worker %d after %v, want 2 after 2 s", c.Worker(), took)
		}
	})
}
