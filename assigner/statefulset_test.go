package assigner

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
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
		{name: "ip-10-0-0-7", maxWorker: 9, want: 7}, // the pod's own name: of a StatefulSet ip-10-0-0
		{name: "web-8", maxWorker: 7, err: `"web-8" is 8, want 0..7`},
		{name: "web-0", maxWorker: -1, err: "want 0..-1"},
		{name: "web", err: `"web" does not end in an ordinal`},
		{name: "", err: "names no pod"},
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
		{name: strings.Repeat("a", 61) + "-1", maxWorker: 9, want: 1},
		{name: "web-99999999999999999999", err: "does not end in an ordinal"},
		{name: "host.web-7", maxWorker: 9, err: "does not end in an ordinal"},
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
	vm.read = func(path string) string {
		if path != "/var/run/secrets/kubernetes.io/serviceaccount/token" {
			return ""
		}
		return tokenOf("web-1")
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

// tokenOf returns a token as Kubernetes projects it into a pod.
func tokenOf(name string) string {
	return jwt(`{"aud":["https://kubernetes.default.svc"],"kubernetes.io":{"namespace":"default",` +
		`"node":{"name":"node-3"},"pod":{"name":"` + name + `","uid":"5f1d"},` +
		`"serviceaccount":{"name":"default"}},"sub":"system:serviceaccount:default:default"}`)
}

// jwt returns a signed text with a payload.
func jwt(payload string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." + encode([]byte(payload)) + "." +
		encode([]byte{1, 2, 3})
}

// TestStatefulSetOnNode: under hostNetwork the host name is the node's. No node's name is mistaken for
// that of a pod, whatever it looks like, and the error has what to write.
func TestStatefulSetOnNode(t *testing.T) {
	t.Parallel()
	const old = `{"kubernetes.io/serviceaccount/secret.name":"default-token-x"}` // bound to no pod
	add := "POD_NAME is not set and " + tokenFile + " names no pod; add to the container: " +
		"env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"
	label := `give the worker id with Env("WORKER_ID", ...) and add to the container: env: ` +
		`[{name: WORKER_ID, valueFrom: {fieldRef: {fieldPath: "metadata.labels[` +
		`'apps.kubernetes.io/pod-index']"}}}]`
	for _, node := range []string{"node-3", "worker-3", "talos-1", "gke-prod-pool-2", "10-0-0-7",
		"ip-10-0-0-7", "ip-10-0-0-7.ec2.internal", "web-7"} {
		for _, tt := range []struct {
			name, token, env string
			want             string // in the error
		}{
			{"token of another", tokenOf("web-0"), "", label},
			{"name of another", "", "web-0", label},
			{"both of another", tokenOf("web-0"), "web-0", label},
			{"neither", "", "", add},
			{"token without a pod", jwt(old), "", add},
			{"no token", "secret", "", add},
			{"no payload", "a.%%%.c", "", add},
			{"no claims", jwt("[]"), "", add},
			{"cut", tokenOf("web-0")[:80], "", add},
			{"part of the name", tokenOf(node + "1"), "", label},
			{"token and name differ", tokenOf("web-0"), "web-1", "POD_NAME is \"web-1\", but the pod of " +
				tokenFile + " is \"web-0\"; write in the container: env: [{name: POD_NAME, "},
			{"name is the node's", tokenOf("web-0"), node, "POD_NAME is \"" + node + "\", but the pod"},
		} {
			p := podNamed(node)
			p.lookupEnv = func(key string) (string, bool) {
				switch key {
				case "KUBERNETES_SERVICE_HOST":
					return "10.0.0.1", true
				case "POD_NAME":
					return tt.env, tt.env != ""
				}
				return "", false
			}
			p.read = func(string) string { return tt.token }
			if worker, err := p.worker(99); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s on %s: %d, %v, want an error with %q", tt.name, node, worker, err, tt.want)
			}
		}
	}
	// A name that the kubelet has cut is not the pod's.
	p := podNamed(strings.Repeat("a", 61) + "-1")
	p.read = func(string) string { return tokenOf(strings.Repeat("a", 61) + "-12") }
	p.lookupEnv = func(string) (string, bool) { return "", false }
	if worker, err := p.worker(99); err == nil {
		t.Errorf("a cut name gives worker %d, want an error", worker)
	}
	// The token alone, and both.
	p = podNamed("web-7.web.default.svc.cluster.local")
	p.read = func(string) string { return tokenOf("web-7") }
	if worker, err := p.worker(99); worker != 7 || err != nil {
		t.Errorf("token and name: %d, %v, want 7", worker, err)
	}
}

// TestTokenFile reads the claim of a token on the disk, and of one that is far too long nothing.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	for text, want := range map[string]string{
		tokenOf("web-7") + "\n":                   "web-7",
		tokenOf(strings.Repeat("a", maxFact)):     "",
		strings.Repeat(tokenOf("web-7"), maxFact): "",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := podOf(readFact(path)); got != want {
			t.Errorf("%d bytes: the pod is %q, want %q", len(text), got, want)
		}
	}
	if got := podOf(readFact(path + "none")); got != "" {
		t.Errorf("without a file: the pod is %q, want none", got)
	}
}

// FuzzToken: no text of a token makes the reader fail otherwise than by saying nothing.
func FuzzToken(f *testing.F) {
	f.Add("web-7", "a.b.c")
	f.Fuzz(func(t *testing.T, name, text string) {
		_ = podOf(text)
		payload, err := json.Marshal(map[string]any{
			"kubernetes.io": map[string]any{"pod": map[string]any{"name": name}}})
		if err != nil || !utf8.ValidString(name) {
			return
		}
		if got := podOf(jwt(string(payload))); got != name {
			t.Errorf("the token of %q is that of %q", name, got)
		}
	})
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
		if suffix := fmt.Sprintf("-%d", n); n < 0 || !strings.HasSuffix(name, suffix) {
			t.Errorf("ordinal(%q) = %d, which is not what the name ends in", name, n)
		}
	})
}
