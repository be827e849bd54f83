package uid_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/ringbuffer"
	"github.com/uidring/uidring/uid"
)

// TestPutPolicies counts what a full ring is answered, and sees that nothing is lost by it.
func TestPutPolicies(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	for _, tc := range []struct {
		o       uid.Both
		rejects bool
	}{
		{uid.Both{}, false},
		{uid.Both{PutPolicy: ringbuffer.PutFail}, true},
		{uid.Both{PutFunc: func(uid.ID) error { told.Add(1); return nil }}, false},
		{uid.Both{PutFunc: func(uid.ID) error { return ringbuffer.ErrFull }}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := cachedAt(t, tc.o, uid.NewTestClock())
			ids := make([]uid.ID, 100_000)
			mustFill(t, c, ids)
			time.Sleep(time.Minute)
			if got := c.Stats().RejectsPut; (got > 0) != tc.rejects {
				t.Errorf("%+v: RejectsPut = %d, want any: %v", tc.o, got, tc.rejects)
			}
		})
	}
	if told.Load() == 0 {
		t.Error("PutFunc was never called")
	}
}

// TestPutFuncTakesIds has a PutFunc that waits for ids until there are none left, beyond the ring
// and the bound: the padder goes on meanwhile.
func TestPutFuncTakesIds(t *testing.T) {
	t.Parallel()
	for _, lead := range []time.Duration{0, time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			var c *uid.Cached
			var took atomic.Int64
			var once sync.Once
			made := make(chan struct{})
			o := uid.Both{TakePolicy: uid.TakeWait, SeqStart: 1, BoostPower: uid.NoBoost, MaxLead: lead}
			o.PutFunc = func(uid.ID) error {
				<-made
				once.Do(func() {
					start := time.Now()
					ids := make([]uid.ID, 3*8192)
					if _, err := c.Fill(context.Background(), ids); err != nil {
						t.Error(err)
					}
					took.Store(int64(time.Since(start)))
				})
				return nil
			}
			c = cachedAt(t, o, uid.NewTestClock())
			defer c.Close()
			close(made)
			time.Sleep(10 * time.Second)
			if d := time.Duration(took.Load()); lead == 0 && d > time.Second || d > 4*time.Second {
				t.Errorf("MaxLead %v: the put function waited %v for three ticks' ids", lead, d)
			}
		})
	}
}
