package kubernetes

import (
	"net/http"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// InClusterAt is InCluster with another folder and environment.
var InClusterAt = inCluster

// NewStore returns the store of an Assigner.
func NewStore(c *Cluster, name string) interface {
	lease.Store
	assigner.Clock
} {
	return newStore(c, name)
}

// TokenFile returns the file that a cluster's token is read from.
func (c *Cluster) TokenFile() string { return c.Client.Transport.(bearer).file }

// Transport returns what makes a cluster's connections.
func (c *Cluster) Transport() *http.Transport { return c.Client.Transport.(bearer).next }
