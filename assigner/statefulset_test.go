package assigner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func ExampleStatefulSet() {
	// On a pod named web-7 this is worker 7; elsewhere it is an error.
	claim, err := StatefulSet(nil).Assign(context.Background(), 1023)
	if err != nil {
		return
	}
	fmt.Println(claim.Worker())
}

func TestStatefulSet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		maxWorker int64
		want      int64
		err       string // part of the message; empty: none
	}{
		{name: "web-7", maxWorker: 1023, want: 7},
		{name: "web-0", maxWorker: 0, want: 0},
		{name: "web-1023", maxWorker: 1023, want: 1023},
		{name: "my-web-2-31", maxWorker: 31, want: 31},
		{name: "web-7.web.default.svc.cluster.local", maxWorker: 9, want: 7},
		{name: "ip-10-0-0-7-3", maxWorker: 9, want: 3},
		{name: "ip-10-0-0-999", maxWorker: 999, want: 999},
		{name: "web-8", maxWorker: 7, err: `"web-8" is 8, want 0..7`},
		{name: "web-0", maxWorker: -1, err: "want 0..-1"},
		{name: "web", err: `"web" does not end in an ordinal`},
		{name: "", err: "does not end in an ordinal"},
		{name: "7", err: "does not end in an ordinal"},
		{name: "-7", err: "does not end in an ordinal"},
		{name: "web-", err: "does not end in an ordinal"},
		{name: "web7", err: "does not end in an ordinal"},
		{name: "web-07", maxWorker: 9, err: "does not end in an ordinal"},
		{name: "web-+7", maxWorker: 9, err: "does not end in an ordinal"},
		{name: "web-7b", maxWorker: 9, err: "does not end in an ordinal"},
		{name: "web-5d89c7-x2k4q", err: "does not end in an ordinal"},
		{name: "web-5d59d67564-44567", maxWorker: 99999, err: "random suffix of a Deployment's"},
		{name: "node-exporter-29874", maxWorker: 99999, err: "DaemonSet's"},
		{name: "import-22222.x", maxWorker: 99999, err: "Job's"},
		{name: "web-44567", maxWorker: 99999, err: "apps.kubernetes.io/pod-index"},
		{name: "web-44560", maxWorker: 99999, want: 44560}, // 0, 1 and 3 are in no random suffix
		{name: "web-4456", maxWorker: 99999, want: 4456},
		{name: "web-445678", maxWorker: 999999, want: 445678},
		{name: strings.Repeat("a", 60) + "-1", maxWorker: 9, want: 1},
		{name: strings.Repeat("a", 61) + "-1", maxWorker: 9, err: "may be cut"},
		{name: "web-99999999999999999999", err: "does not end in an ordinal"},
		{name: "host.web-7", maxWorker: 9, err: "does not end in an ordinal"},
		{name: "ip-10-0-0-7", maxWorker: 9, err: "node's address"},
		{name: "ip-10-0-0-7.ec2.internal", maxWorker: 9, err: "node's address"},
	} {
		got, err := podNamed(tt.name).worker(tt.maxWorker)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: error %v, want one with %q", tt.name, err, tt.err)
			}
			if above := strings.Contains(tt.err, "want 0.."); errors.Is(err, ErrWorkersExhausted) != above {
				t.Errorf("%q: error %v wraps ErrWorkersExhausted: %v, want %v", tt.name, err, !above, above)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.name, err)
		} else if got != tt.want {
			t.Errorf("%q: worker %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestStatefulSetErrors(t *testing.T) {
	t.Parallel()
	broken := podNamed("")
	broken.hostname = func() (string, error) { return "", os.ErrPermission }
	if _, err := broken.worker(1); !errors.Is(err, os.ErrPermission) {
		t.Errorf("error %v, want the cause", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := StatefulSet(nil).Assign(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v, want context.Canceled", err)
	}
}

// TestStatefulSetElsewhere: two machines named web-1 and api-1 do not become the same worker.
func TestStatefulSetElsewhere(t *testing.T) {
	t.Parallel()
	vm := podNamed("web-1")
	vm.lookupEnv = func(string) (string, bool) { return "", false }
	_, err := vm.worker(9)
	const advice = "no pod: KUBERNETES_SERVICE_HOST is not set; give the worker id with Env"
	if err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("outside Kubernetes: error %v, want one that advises Env", err)
	}
	// An image that starts the program with an empty environment.
	vm.stat = func(path string) (os.FileInfo, error) {
		if path != "/var/run/secrets/kubernetes.io/serviceaccount" {
			return nil, os.ErrNotExist
		}
		return nil, nil
	}
	if worker, err := vm.worker(9); worker != 1 || err != nil {
		t.Errorf("with a service account: %d, %v, want 1", worker, err)
	}
	job := podNamed("import-1")
	job.lookupEnv = func(string) (string, bool) { return "1", true }
	if _, err := job.worker(9); err == nil ||
		!strings.Contains(err.Error(), "JOB_COMPLETION_INDEX") {
		t.Errorf("in an indexed Job: error %v, want one that says so", err)
	}
}

// No two names of one set give the same worker id, whatever the names look like.
func FuzzOrdinal(f *testing.F) {
	for _, s := range []string{"web-7", "web-07", "ip-10-0-0-7", "a-9223372036854775807", "-1", "web-7.x", "é-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		n, err := ordinal(name)
		if err != nil {
			return
		}
		label, _, _ := strings.Cut(name, ".")
		if suffix := fmt.Sprintf("-%d", n); n < 0 || !strings.HasSuffix(label, suffix) {
			t.Errorf("ordinal(%q) = %d, which is not what the first label ends in", name, n)
		}
	})
}
