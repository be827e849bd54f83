package assigner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func ExampleEnv() {
	os.Setenv("WORKER_ID", "42")
	claim, err := Env("WORKER_ID", nil).Assign(context.Background(), 1023)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Worker())
	// Output: 42
}

func TestEnv(t *testing.T) {
	t.Parallel()
	const name = "UIDRING_TEST_WORKER"
	for _, tt := range []struct {
		value     string
		maxWorker int64
		want      int64
		err       string // part of the message; empty: none
		exhausted bool
	}{
		{value: "0", maxWorker: 0, want: 0},
		{value: "42", maxWorker: 1023, want: 42},
		{value: "1023", maxWorker: 1023, want: 1023},
		{value: "0042", maxWorker: 1023, want: 42},
		{value: "1024", maxWorker: 1023, err: name + ` is 1024, want 0..1023`, exhausted: true},
		{value: "-1", maxWorker: 1023, err: name + ` is -1, want 0..1023`, exhausted: true},
		{value: "99999999999999999999", maxWorker: 1023,
			err: "is 99999999999999999999, want 0..1023", exhausted: true},
		{value: "-9999999999999999999", maxWorker: 1023,
			err: "is -9999999999999999999, want 0..1023", exhausted: true},
		{value: "999999999999999999999", maxWorker: 1023,
			err: "is 21 characters long, want 0..1023", exhausted: true},
		{value: "", maxWorker: 1023, err: name + " is not set, want a worker id in 0..1023"},
		{value: "seven", maxWorker: 1023,
			err: name + ` is 5 characters long, want a worker id in 0..1023`},
		{value: " 7", maxWorker: 1023, err: "is 2 characters long, want a worker id"},
		{value: "7.0", maxWorker: 1023, err: "is 3 characters long"},
		{value: "0x7", maxWorker: 1023, err: "is 3 characters long"},
		{value: "-", maxWorker: 1023, err: "is 1 characters long, want a worker id"},
		{value: "7-7", maxWorker: 1023, err: "is 3 characters long"},
		{value: "--7", maxWorker: 1023, err: "is 3 characters long"},
		{value: "hunter2", maxWorker: 1023, err: "is 7 characters long, want"},
		{value: "user:password@tcp(db:3306)/uid", maxWorker: 1023, err: "is 30 characters long, want"},
	} {
		got, err := envWorker(name, tt.value, tt.maxWorker)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want one with %q", tt.value, err, tt.err)
			}
			shown := fmt.Sprint(err)
			if strings.Contains(shown, "password") || strings.Contains(shown, "hunter2") {
				t.Errorf("%q: error %v shows what may be a secret", tt.value, err)
			}
			if errors.Is(err, ErrWorkersExhausted) != tt.exhausted {
				t.Errorf("%q: error %v wraps ErrWorkersExhausted: %v, want %v",
					tt.value, err, !tt.exhausted, tt.exhausted)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.value, err)
		} else if got != tt.want {
			t.Errorf("%q: worker %d, want %d", tt.value, got, tt.want)
		}
	}
}

func TestEnvUnset(t *testing.T) {
	t.Parallel()
	if _, err := Env("UIDRING_TEST_UNSET", nil).Assign(t.Context(), 1); err == nil ||
		!strings.Contains(err.Error(), "UIDRING_TEST_UNSET is not set") {
		t.Errorf("error %v, want one that names the variable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Env("UIDRING_TEST_UNSET", nil).Assign(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want context.Canceled", err)
	}
}
