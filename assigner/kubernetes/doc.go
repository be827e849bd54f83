// Package kubernetes assigns worker ids from the API server of a Kubernetes cluster: a Lease object
// (coordination.k8s.io/v1) keeps each worker id, and pods of a Deployment share them. It needs the
// standard library and no client library, no database, no volume and no numbered pods.
//
// A program in a pod calls InCluster. For one outside of the cluster there is package kubeconfig, a
// module of its own.
//
//	cluster, err := kubernetes.InCluster()
//	...
//	a, err := kubernetes.New(cluster, &kubernetes.Options{Namespace: "orders"})
//	...
//	gen, err := uid.NewCached(ctx, a, nil)
//
// The account needs get, list, create and update on leases in one namespace. The manifests in
// examples/kubernetes have the Role.
//
// # Why windows are disjoint
//
// A Lease object is a slot of package lease. Its annotation holds a fencing token and the end of
// the reserved window, and its resourceVersion makes each claim, extension and release one
// compare-and-set: the API server refuses an update of an object that has changed. A claim begins
// at the end that it found, or later. Neither leaseDurationSeconds nor any clock takes part in
// that. The object's spec is for people who look at it.
//
// A program that changes to this authority from another one repeats ids, unless lease.Move has
// moved them.
package kubernetes
