package kubernetes

import (
	"cmp"
	"fmt"

	"github.com/uidring/uidring/assigner/lease"
)

// defaultNamespace is the Namespace where Options names none.
const defaultNamespace = "uidring"

// maxNamespace bounds Options.Namespace, so that the name of an object has room for a worker id.
const maxNamespace = 40

// Options configures an Assigner. nil and zero fields mean the defaults.
type Options struct {
	// Namespace is a universe of ids, with one layout, in the cluster's namespace that
	// Cluster.Namespace names: IDS OF TWO NAMESPACES OF EITHER KIND MAY BE EQUAL. Objects are
	// called Namespace-header, Namespace-used-7 and Namespace-slot-7, and have the label
	// uidring.github.io/ids=Namespace. 1 to 40 lower-case letters, digits and hyphens. Default
	// uidring.
	Namespace string

	// Lease has the options that all authorities share.
	Lease lease.Options

	_ struct{} // keeps literals keyed
}

// New returns an Assigner for worker ids that Lease objects of a cluster keep. It makes no
// connection. The first claim does, and waits for the API server until its ctx ends. The Assigner
// starts no goroutine. Its claims are assigner.Clocks: they tell the API server's time, to the
// second.
func New(c *Cluster, o *Options) (*lease.Assigner, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Namespace = cmp.Or(opts.Namespace, defaultNamespace)
	if !isLabel(opts.Namespace, maxNamespace) {
		return nil, fmt.Errorf("kubernetes: Options.Namespace is %q, want 1 to %d lower-case "+
			"letters, digits and hyphens", opts.Namespace, maxNamespace)
	}
	if c == nil {
		return nil, fmt.Errorf("kubernetes: the cluster is nil, want that of InCluster")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return lease.New(newStore(c, opts.Namespace), &opts.Lease)
}
