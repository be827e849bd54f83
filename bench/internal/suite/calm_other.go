//go:build !unix

package suite

// preemptions returns 0: this system does not tell.
func preemptions() int64 { return 0 }
