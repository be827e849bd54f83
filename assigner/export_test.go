package assigner

import (
	"strings"
	"time"
)

// InNewProcess returns a as a process of its own has it, which knows nothing of this one's claims.
func InNewProcess(a Assigner) Assigner {
	if l, ok := a.(local); ok {
		l.open = &holders{}
		return l
	}
	return a
}

// WithClock returns a, which Env or StatefulSet made, on another clock.
func WithClock(a Assigner, now func() time.Time) Assigner {
	l := a.(local)
	l.now = now
	return l
}

// Kill ends a claim as the end of its process does.
func Kill(c Claim) {
	if f, ok := c.(*fileClaim); ok {
		f.lock.Close()
	}
}

// PodNamed is StatefulSet in a pod with that host name.
func PodNamed(name string, options *LocalOptions) Assigner {
	return newLocal("stateful set", podNamed(name).worker, options)
}

func podNamed(name string) pod {
	own, _, _ := strings.Cut(name, ".")
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": own}
	return pod{
		hostname:  func() (string, error) { return name, nil },
		lookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok },
		read:      func(string) string { return "" },
	}
}

// PodWithToken is StatefulSet in a new process of a pod with that host name, whose service account
// has that token.
func PodWithToken(host, token string) Assigner {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
	p := pod{
		hostname:  func() (string, error) { return host, nil },
		lookupEnv: func(key string) (string, bool) { v, ok := env[key]; return v, ok },
		read:      func(string) string { return token },
	}
	return InNewProcess(newLocal("stateful set", p.worker, nil))
}
