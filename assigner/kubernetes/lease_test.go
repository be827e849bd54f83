package kubernetes

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeaseSpec: kubectl is shown who has a slot, and for how long, in whole seconds from now. What no
// owner has, or is of another form, shows nothing.
func TestLeaseSpec(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const now = "2000-01-01T00:00:00.000000Z"
		slot := func(owner string, d time.Duration) string {
			return fmt.Sprintf(`{"owner":%q,"until_ms":%d}`, owner, time.Now().Add(d).UnixMilli())
		}
		for value, want := range map[string]leaseSpec{
			slot("me", 1500*time.Millisecond):  {"me", 2, now},
			slot("me", time.Millisecond):       {"me", 1, now},
			slot("me", math.MaxInt64):          {"me", 1 << 30, now},
			slot("me", 0):                      {"me", 0, ""},
			slot("me", -time.Second):           {"me", 0, ""},
			slot("", time.Hour):                {},
			`{"owner":"me","until_ms":"soon"}`: {},
			`[]`:                               {},
		} {
			if got := newLeaseSpec([]byte(value)); got != want {
				t.Errorf("%s: %+v, want %+v", value, got, want)
			}
		}
	})
}
