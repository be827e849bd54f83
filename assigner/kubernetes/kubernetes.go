package kubernetes

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/uidring/uidring/assigner/lease"
)

// DefaultName is the default of Options.Name.
const DefaultName = "uidring"

// maxName bounds Options.Name, so that the name of an object has room for a worker id.
const maxName = 40

// Options configures New. Nil and zero fields mean the defaults.
type Options struct {
	// Name is a universe of ids in the cluster's namespace: claims in one universe have different
	// worker ids and one bit layout, and IDS OF TWO NAMES, OR OF TWO NAMESPACES OF THE CLUSTER, MAY
	// BE EQUAL.
	// Objects are called Name-header and Name-slot-7, and have the label
	// uidring.github.io/ids=Name. 1 to 40 lower-case letters, digits and hyphens. Default
	// "uidring".
	Name string

	// Options are the options of package lease.
	lease.Options
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
	opts.Name = cmp.Or(opts.Name, DefaultName)
	if !isLabel(opts.Name, maxName) {
		return nil, fmt.Errorf("kubernetes: Options.Name is %q, want 1 to %d lower-case letters, "+
			"digits and hyphens", opts.Name, maxName)
	}
	if c == nil {
		return nil, fmt.Errorf("kubernetes: the cluster is nil, want that of InCluster or " +
			"Kubeconfig")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	return lease.New(newStore(c, opts.Name), &opts.Options)
}

// Scheme begins the text that Open reads.
const Scheme = "kubernetes:"

// Open returns an Assigner for a text of the form
//
//	kubernetes:[NAMESPACE/][NAME][?kubeconfig=PATH][&context=CONTEXT]
//
// such as kubernetes:orders. In a pod it uses the pod's service account, unless the text names a
// kubeconfig or a context. Otherwise it uses Kubeconfig. NAMESPACE and NAME override the account's
// namespace and o's Name.
func Open(text string, o *Options) (*lease.Assigner, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	rest, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if !ok || err != nil {
		return nil, fmt.Errorf("kubernetes: the address is not of the form " +
			"kubernetes:[NAMESPACE/][NAME][?kubeconfig=PATH][&context=CONTEXT]")
	}
	for key, all := range values {
		if key != "kubeconfig" && key != "context" || len(all) != 1 {
			return nil, fmt.Errorf("kubernetes: the address has %q, want kubeconfig and context, "+
				"once each", key)
		}
	}
	var c *Cluster
	if len(values) == 0 && os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		c, err = InCluster()
	} else {
		c, err = Kubeconfig(values.Get("kubeconfig"), values.Get("context"))
	}
	if err != nil {
		return nil, err
	}
	var opts Options
	if o != nil {
		opts = *o
	}
	name := rest
	if namespace, after, ok := strings.Cut(rest, "/"); ok {
		c.Namespace, name = namespace, after
	}
	opts.Name = cmp.Or(name, opts.Name)
	return New(c, &opts)
}
