package assigner

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// StatefulSet returns an Assigner that takes the worker id from the ordinal at the end of the pod's
// name, which Kubernetes gives to the pods of a StatefulSet: web-7 is worker 7. Of a host name with
// dots the first label counts.
//
// Kubernetes starts a pod only when it knows that the one before with the same ordinal is gone, so
// that no two run at once, as long as no pod is deleted by force while its node cannot be reached
// and no two StatefulSets share the id space. A restart repeats no id as long as the clock does not
// go back, and is not behind on the node that the pod moves to: see LocalOptions, which may be nil.
//
// The host name has to be the pod's own name. The token of its service account carries that name,
// and the downward API gives it in POD_NAME:
//
//	env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
//
// Assign fails where neither is there, and where one of them is not the host name: under
// hostNetwork the host name is the node's, so that all pods on node-3 would be worker 3. It fails
// outside Kubernetes, when the name has no ordinal, and when the ordinal may be that of a pod of
// another kind: a random suffix that happens to be a number, or an index of a Job, which two pods
// may have at a time: those need an authority. Static pods are not found out: they have no token,
// and the name of one, also in POD_NAME, ends in its node's, so that web-pool-a-3 and web-pool-b-3
// would both be worker 3. Give the worker id of such a one with Env. It fails with
// ErrWorkersExhausted when the ordinal is above maxWorker, or when another open claim of this
// process has the same worker id and layout. It waits up to a second, or a tick if that is longer,
// for the window to begin.
func StatefulSet(options *LocalOptions) Assigner {
	return newLocal("stateful set", pod{os.Hostname, os.LookupEnv, readFact}.worker, options)
}

// pod is what tells a pod's worker id.
type pod struct {
	hostname  func() (string, error)
	lookupEnv func(string) (string, bool)
	read      func(path string) string // the file's text; empty if it cannot be read
}

const (
	// tokenFile is where a pod that has a service account finds the account's token.
	accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenFile     = accountFolder + "/token"

	// nameYAML gives a container its pod's name, and ordinalYAML the ordinal in it.
	nameYAML    = "env: [{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"
	ordinalYAML = "env: [{name: WORKER_ID, valueFrom: {fieldRef: {fieldPath: " +
		"\"metadata.labels['apps.kubernetes.io/pod-index']\"}}}]"
)

func (p pod) worker(maxWorker int64) (int64, error) {
	token := podOf(p.read(tokenFile))
	// The kubelet sets the variable in every container, without service links too. An image that
	// empties its environment may have the token.
	if host, _ := p.lookupEnv("KUBERNETES_SERVICE_HOST"); host == "" && token == "" {
		return 0, errors.New("this is no pod: KUBERNETES_SERVICE_HOST is not set; give the " +
			"worker id with Env")
	}
	if _, ok := p.lookupEnv("JOB_COMPLETION_INDEX"); ok {
		return 0, errors.New("JOB_COMPLETION_INDEX is set: two pods of an indexed Job may run " +
			"with one index; use assigner/workernode")
	}
	host, err := p.hostname()
	if err != nil {
		return 0, fmt.Errorf("host name: %w", err)
	}
	name, _ := p.lookupEnv("POD_NAME")
	label, _, _ := strings.Cut(host, ".")
	switch {
	case token == "" && name == "":
		return 0, fmt.Errorf("host name %q may be a node's: POD_NAME is not set and %s names no "+
			"pod; add to the container: %s", host, tokenFile, nameYAML)
	case token != "" && name != "" && token != name:
		return 0, fmt.Errorf("POD_NAME is %q, but the pod of %s is %q; write in the container: %s",
			name, tokenFile, token, nameYAML)
	case token == "":
		token = name
	}
	if label != token {
		return 0, fmt.Errorf("host name %q is not the name of the pod, %q, as under hostNetwork; "+
			"give the worker id with Env(\"WORKER_ID\", ...) and add to the container: %s", host,
			token, ordinalYAML)
	}
	worker, err := ordinal(label)
	if err != nil {
		return 0, err
	}
	if worker > maxWorker {
		return 0, fmt.Errorf("%w: the ordinal of host name %q is %d, want 0..%d",
			ErrWorkersExhausted, host, worker, maxWorker)
	}
	return worker, nil
}

// podOf returns the name of the pod that a service account's token is bound to, or "" if it says
// none. The signature is not looked at: the pod's own file is no secret from the pod.
func podOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Kubernetes struct {
			Pod struct {
				Name string `json:"name"`
			} `json:"pod"`
		} `json:"kubernetes.io"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return ""
	}
	return claims.Kubernetes.Pod.Name
}

const (
	randomSuffix = 5         // characters at the end of the name of a Deployment's pod
	randomDigits = "2456789" // the digits among the characters that such a suffix is made of
)

// ordinal returns the number after the last hyphen of a pod's name. It accepts only the form that
// Kubernetes writes: two names that differ must not give one worker id, so 07 is refused.
func ordinal(name string) (int64, error) {
	hyphen := strings.LastIndexByte(name, '-')
	digits := name[hyphen+1:]
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case hyphen < 1 || err != nil || strconv.FormatUint(n, 10) != digits:
		return 0, fmt.Errorf("host name %q does not end in an ordinal, want a name such as web-7",
			name)
	case len(digits) == randomSuffix && strings.Trim(digits, randomDigits) == "":
		return 0, fmt.Errorf("host name %q may end in the random suffix of a Deployment's, "+
			"DaemonSet's or Job's pod, want an ordinal that cannot be one, such as web-7; a "+
			"StatefulSet with ordinals this high gives them with Env and %s", name, ordinalYAML)
	}
	return int64(n), nil
}
