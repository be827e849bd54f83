package assigner

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// StatefulSet returns an Assigner that takes the worker id from the ordinal at the end of the host
// name, which Kubernetes gives to the pods of a StatefulSet: web-7 is worker 7. In a name with dots
// the first label counts.
//
// Kubernetes starts a pod only when it knows that the one before with the same ordinal is gone, so
// that no two run at once, as long as no pod is deleted by force while its node cannot be reached
// and no two StatefulSets share the id space. A restart repeats no id as long as the clock does not
// go back, and is not behind on the node that the pod moves to: see LocalOptions, which may be nil.
//
// Assign fails outside Kubernetes, where machines named web-1 and api-1 would both be worker 1,
// and when the name has no ordinal or may be that of a pod of another kind: a random suffix that
// happens to be a number, an index of a Job, a name that is cut, a node's name under hostNetwork.
// For those, give the worker id with Env. It fails with ErrWorkersExhausted when the ordinal is
// above maxWorker, or when another open claim of this process has the same worker id and layout.
// It waits up to a second, or a tick if that is longer, for the window to begin.
func StatefulSet(options *LocalOptions) Assigner {
	return newLocal("stateful set", pod{os.Hostname, os.LookupEnv, os.Stat}.worker, options)
}

// pod is what tells a pod's worker id.
type pod struct {
	hostname  func() (string, error)
	lookupEnv func(string) (string, bool)
	stat      func(string) (os.FileInfo, error)
}

// accountFolder is where a pod that has a service account finds it.
const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"

func (p pod) worker(maxWorker int64) (int64, error) {
	// The kubelet sets the variable in every container, without service links and without a service
	// account too. An image that empties its environment may have the folder.
	if host, _ := p.lookupEnv("KUBERNETES_SERVICE_HOST"); host == "" {
		if _, err := p.stat(accountFolder); err != nil {
			return 0, errors.New("this is no pod: KUBERNETES_SERVICE_HOST is not set; give the " +
				"worker id with Env")
		}
	}
	if _, ok := p.lookupEnv("JOB_COMPLETION_INDEX"); ok {
		return 0, errors.New("JOB_COMPLETION_INDEX is set: two pods of an indexed Job may run " +
			"with one index; use assigner/workernode")
	}
	name, err := p.hostname()
	if err != nil {
		return 0, fmt.Errorf("host name: %w", err)
	}
	worker, err := ordinal(name)
	if err != nil {
		return 0, err
	}
	if worker > maxWorker {
		return 0, fmt.Errorf("%w: the ordinal of host name %q is %d, want 0..%d",
			ErrWorkersExhausted, name, worker, maxWorker)
	}
	return worker, nil
}

const (
	randomSuffix = 5         // characters at the end of the name of a Deployment's pod
	randomDigits = "2456789" // the digits among the characters that such a suffix is made of
	maxLabel     = 63        // characters of a host name, beyond which the kubelet cuts it
)

// ordinal returns the number after the last hyphen of name's first label. It accepts only the form
// that Kubernetes writes: two names that differ must not give one worker id, so 07 is refused.
func ordinal(name string) (int64, error) {
	label, _, _ := strings.Cut(name, ".")
	hyphen := strings.LastIndexByte(label, '-')
	digits := label[hyphen+1:]
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case hyphen < 1 || err != nil || strconv.FormatUint(n, 10) != digits:
		return 0, fmt.Errorf("host name %q does not end in an ordinal, want a name such as web-7",
			name)
	case isAddress(label):
		return 0, fmt.Errorf("host name %q is a node's address, want a pod's name such as web-7; "+
			"a pod with hostNetwork needs Env", name)
	case len(digits) == randomSuffix && strings.Trim(digits, randomDigits) == "":
		return 0, fmt.Errorf("host name %q may end in the random suffix of a Deployment's, "+
			"DaemonSet's or Job's pod, want an ordinal that cannot be one, such as web-7; a "+
			"StatefulSet with ordinals this high gives them with Env, from the label "+
			"apps.kubernetes.io/pod-index", name)
	case len(label) >= maxLabel:
		return 0, fmt.Errorf("host name %q has %d characters and may be cut, want at most %d; "+
			"give the worker id with Env", name, len(label), maxLabel-1)
	}
	return int64(n), nil
}

// isAddress reports whether label is an IPv4 address in the form that clouds give to their nodes,
// ip-10-0-0-7. Its last number is no ordinal: all pods of the node would get the same worker id.
func isAddress(label string) bool {
	parts := strings.Split(label, "-")
	if len(parts) != 5 || parts[0] != "ip" {
		return false
	}
	for _, p := range parts[1:] {
		if _, err := strconv.ParseUint(p, 10, 8); err != nil {
			return false
		}
	}
	return true
}
