package assigner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

func TestStatic(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		worker, maxWorker int64
		want              string // in the error; empty: success
	}{
		{0, 0, ""},
		{0, 31, ""},
		{31, 31, ""},
		{32, 31, "static worker id is 32, want 0..31"},
		{-1, 31, "static worker id is -1, want 0..31"},
		{0, -1, "static worker id is 0, want 0..-1"},
		{1 << 62, 1<<22 - 1, "static worker id is 4611686018427387904, want 0..4194303"},
	} {
		c, err := assigner.Static(tt.worker).Assign(t.Context(), tt.maxWorker)
		if tt.want != "" {
			if !errors.Is(err, assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Static(%d).Assign(%d) = %v, want ErrWorkersExhausted with %q",
					tt.worker, tt.maxWorker, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("Static(%d).Assign(%d): %v", tt.worker, tt.maxWorker, err)
			continue
		}
		if c.Worker() != tt.worker {
			t.Errorf("Static(%d): worker = %d", tt.worker, c.Worker())
		}
		if from, until := c.Window(); !from.IsZero() || !until.IsZero() {
			t.Errorf("Static(%d): window = [%v, %v), want all of time", tt.worker, from, until)
		}
		if until, err := c.Extend(t.Context(), time.Now()); err != nil || !until.IsZero() {
			t.Errorf("Static(%d): Extend = %v, %v, want the zero time and no error", tt.worker, until, err)
		}
		if err := c.Release(t.Context(), time.Time{}); err != nil {
			t.Errorf("Static(%d): Release: %v", tt.worker, err)
		}
	}
}

func ExampleStatic() {
	claim, err := assigner.Static(7).Assign(context.Background(), 31)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Worker())

	_, err = assigner.Static(32).Assign(context.Background(), 31)
	fmt.Println(err)
	// Output:
	// 7
	// assigner: worker ids exhausted: static worker id is 32, want 0..31
}
