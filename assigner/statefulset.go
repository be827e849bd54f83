package assigner

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// StatefulSet returns an Assigner that takes the worker id from the ordinal at the end of the host name, as Kubernetes
// gives it to the pods of a StatefulSet: web-7 is worker 7. In a name with dots the first label counts.
//
// Kubernetes starts a pod only when the one before it with the same ordinal is known to be gone, so no two run at once,
// as long as nobody deletes a pod by force while its node cannot be reached, and no two StatefulSets share the id space.
// A pod with hostNetwork has its node's host name: give it the ordinal with Env instead.
//
// The window begins at the Assign and has no end. A pod that starts again leaves the tick alone in which the one before
// may have stopped; that is no protection if its clock has gone back meanwhile, or if the one before was ahead of its
// clock. Where that matters, use assigner/workernode or assigner/zookeeper.
//
// Assign fails when the name has no ordinal, and with ErrWorkersExhausted when the ordinal is above maxWorker.
func StatefulSet() Assigner { return statefulSet{hostname: os.Hostname} }

type statefulSet struct {
	hostname func() (string, error)
}

func (s statefulSet) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assigner: stateful set: %w", err)
	}
	name, err := s.hostname()
	if err != nil {
		return nil, fmt.Errorf("assigner: stateful set: host name: %w", err)
	}
	worker, err := ordinal(name)
	if err != nil {
		return nil, err
	}
	if worker > maxWorker {
		return nil, fmt.Errorf("%w: the ordinal of host name %q is %d, want 0..%d", ErrWorkersExhausted, name, worker, maxWorker)
	}
	return newSinceClaim(worker), nil
}

// ordinal returns the number after the last hyphen of name's first label. Only the form that Kubernetes writes passes:
// two names that differ must not give the same worker id, so 07 is refused.
func ordinal(name string) (int64, error) {
	label, _, _ := strings.Cut(name, ".")
	hyphen := strings.LastIndexByte(label, '-')
	digits := label[hyphen+1:]
	n, err := strconv.ParseUint(digits, 10, 63)
	if hyphen < 1 || err != nil || strconv.FormatUint(n, 10) != digits {
		return 0, fmt.Errorf("assigner: stateful set: host name %q does not end in an ordinal, want a name such as web-7", name)
	}
	if isAddress(label) {
		return 0, fmt.Errorf("assigner: stateful set: host name %q is a node's address, want a pod's name such as web-7; a pod with hostNetwork needs Env", name)
	}
	return int64(n), nil
}

// isAddress reports whether label is an IPv4 address as clouds name their nodes, ip-10-0-0-7, whose last number is no
// ordinal: all pods of such a node would get the same worker id.
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
