package lease_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestClones: of two copies of one claim, as a virtual machine that was copied has them, one can
// extend. The other does not mistake the original's change for its own, also after one of its own
// was not answered.
func TestClones(t *testing.T) {
	t.Parallel()
	for _, unanswered := range []bool{false, true} {
		t.Run(fmt.Sprint("unanswered ", unanswered), func(t *testing.T) {
			t.Parallel()
			s := newAmbush()
			one := assign(t, newAssigner(t, s, nil))
			two := lease.Clone(one)
			want := until(one).Add(time.Hour)
			if unanswered {
				for range 3 { // tries
					s.once(1, "put", slot0, notDone)
				}
				if _, err := two.Extend(t.Context(), want); err == nil {
					t.Fatal("Extend without an answer succeeded")
				}
			}
			if _, err := one.Extend(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			if _, err := two.Extend(t.Context(), want); !errors.Is(err, assigner.ErrClaimLost) {
				t.Errorf("the copy's Extend = %v, want ErrClaimLost", err)
			}
			if err := two.Release(t.Context(), time.Time{}); err != nil {
				t.Errorf("the copy's Release: %v", err)
			}
			if _, err := one.Extend(t.Context(), until(one).Add(time.Hour)); err != nil {
				t.Errorf("the original's next Extend: %v", err)
			}
		})
	}
}

// TestTokens: a token has 63 random bits, so that no two changes have the same one.
func TestTokens(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	var bits int64
	for range 128 {
		n, err := strconv.ParseInt(lease.NewToken(), 10, 64)
		if err != nil || n < 0 || seen[n] {
			t.Errorf("token %d is negative, or is repeated, or is no number: %v", n, err)
		}
		seen[n] = true
		bits |= n
	}
	if bits != math.MaxInt64 {
		t.Errorf("the bits of 128 tokens are %b, want 63", bits)
	}
}
