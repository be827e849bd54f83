package lease_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/assigner/lease"
)

// TestExamine: Examine tells an empty store from one that lost its header, finds slots that cannot be
// read, and changes nothing. It waits for answers.
func TestExamine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testExamine)
}

func testExamine(t *testing.T) {
	s := newAmbush()
	m, a := s.memory, newAssigner(t, s, nil)
	examine := func(header bool, slots int, used int64, faults ...string) {
		t.Helper()
		for call, name := range map[string]string{"list": "", "get": lease.HeaderName} {
			s.once(1, call, name, notDone)
			c, err := a.Examine(t.Context())
			if err != nil || c.Header != header || c.Slots != slots || c.Used != used || len(c.Faults) != len(faults) {
				t.Fatalf("Examine = %+v, %v, want header %v, %d slots, %d used, %q", c, err, header, slots, used,
					faults)
			}
			for i, want := range faults {
				if got := c.Faults[i].Error(); !strings.HasPrefix(got, "lease: ") || !strings.Contains(got, want) {
					t.Errorf("fault %d is %q, want one with %q", i, got, want)
				}
			}
		}
	}
	examine(false, 0, 0)
	for range 3 {
		assign(t, a)
	}
	examine(true, 3, 3)
	m.set(func() { m.entries["slot-1"] = lease.Entry{Name: "slot-1", Value: []byte("garbage"), Version: "9"} })
	examine(true, 2, 3, "slot-1: invalid character")
	m.set(func() { delete(m.entries, lease.HeaderName) })
	examine(false, 2, 3, "slot-1: invalid character", "the header is missing, slots: 3")
	remove(m, slot0, lease.SlotPrefix+"2")
	examine(false, 0, 3, "slot-1: invalid character", "the header is missing, slots: 1")
	m.set(func() {
		m.entries[lease.HeaderName] = lease.Entry{Name: lease.HeaderName, Value: []byte("garbage"), Version: "9"}
	})
	if _, err := a.Examine(t.Context()); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("Examine of a header that cannot be read = %v, want ErrRefused", err)
	}
}
