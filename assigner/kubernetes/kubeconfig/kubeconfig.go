// Package kubeconfig reaches a Kubernetes cluster as kubectl does, for programs that run outside of
// a pod. It reads kubeconfig files with Kubernetes' own client library, which is why it is a module
// of its own: package kubernetes needs none of it in a pod.
package kubeconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/lease"
)

// Load returns the cluster of a context in the kubeconfig file at path. An empty path means the
// files that the environment variable KUBECONFIG names, merged as kubectl does, else .kube/config
// in the home folder. An empty context means the current one. Load makes no connection.
//
// Logins that kubectl knows work, exec plug-ins too, which run when a request needs them. Errors
// show no secret of the file.
func Load(path, context string) (*kubernetes.Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	raw, err := rules.Load()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if len(raw.Contexts) == 0 {
		return nil, errors.New("kubeconfig: no file with a context was found; name one")
	}
	file := clientcmd.NewNonInteractiveClientConfig(*raw, cmp.Or(context, raw.CurrentContext),
		&clientcmd.ConfigOverrides{}, rules)
	config, err := file.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := file.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	// HTTP/1.1 only: a request that times out closes its connection, and the next one gets another,
	// to a server that is alive.
	config.NextProtos = []string{"http/1.1"}
	config.Dial = (&net.Dialer{Timeout: 3 * time.Second}).DialContext
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	// The token goes to no other server.
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return &kubernetes.Cluster{Server: strings.TrimRight(config.Host, "/"), Namespace: namespace,
		Client: client}, nil
}

// Open returns an Assigner for a text of the form
//
//	kubernetes:[CLUSTERNAMESPACE/][NAMESPACE][?kubeconfig=PATH][&context=CONTEXT]
//
// such as kubernetes:orders. In a pod it uses the pod's service account, unless the text names a
// kubeconfig or a context. Otherwise it uses Load. CLUSTERNAMESPACE and NAMESPACE override the
// account's namespace and o's.
func Open(text string, o *kubernetes.Options) (*lease.Assigner, error) {
	rest, ok := strings.CutPrefix(text, "kubernetes:")
	rest, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if !ok || err != nil {
		return nil, errors.New("kubeconfig: the address is not of the form " +
			"kubernetes:[CLUSTERNAMESPACE/][NAMESPACE][?kubeconfig=PATH][&context=CONTEXT]")
	}
	for key, all := range values {
		if key != "kubeconfig" && key != "context" || len(all) != 1 {
			return nil, fmt.Errorf("kubeconfig: the address has %q, want kubeconfig and context, "+
				"once each", key)
		}
	}
	var c *kubernetes.Cluster
	if len(values) == 0 && os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		c, err = kubernetes.InCluster()
	} else {
		c, err = Load(values.Get("kubeconfig"), values.Get("context"))
	}
	if err != nil {
		return nil, err
	}
	var opts kubernetes.Options
	if o != nil {
		opts = *o
	}
	namespace := rest
	if before, after, ok := strings.Cut(rest, "/"); ok {
		c.Namespace, namespace = before, after
	}
	opts.Namespace = cmp.Or(namespace, opts.Namespace)
	return kubernetes.New(c, &opts)
}
