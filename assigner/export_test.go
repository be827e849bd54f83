package assigner

import (
	"io/fs"
	"os"
	"time"
)

// InNewProcess returns a as a process of its own has it, which knows nothing of this one's claims.
func InNewProcess(a Assigner) Assigner {
	switch a := a.(type) {
	case local:
		a.open = &holders{}
		return a
	case static:
		a.open = &holders{}
		return a
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
	return pod{
		hostname: func() (string, error) { return name, nil },
		lookupEnv: func(key string) (string, bool) {
			return "10.0.0.1", key == "KUBERNETES_SERVICE_HOST"
		},
		stat: func(string) (os.FileInfo, error) { return nil, fs.ErrNotExist },
	}
}
