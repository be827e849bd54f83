package kubernetes

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// The keys of an object's labels and annotation.
const (
	nameLabel       = "uidring.github.io/ids"
	noteLabel       = "uidring.github.io/note" // of notes, which a start does not list
	valueAnnotation = "uidring.github.io/slot"
)

// leaseObject is a Lease object of coordination.k8s.io/v1, as far as it is used here.
type leaseObject struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Metadata   metadata  `json:"metadata"`
	Spec       leaseSpec `json:"spec"`
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// leaseSpec shows kubectl what the annotation says. No program reads it back.
type leaseSpec struct {
	HolderIdentity string `json:"holderIdentity,omitempty"`
	// LeaseDurationSeconds is the time from RenewTime to the window's end.
	LeaseDurationSeconds int32  `json:"leaseDurationSeconds,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
}

// microTime is the form of an object's times.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// newLease returns the object of an entry that has the given value.
func (s *store) newLease(old lease.Entry, value []byte) leaseObject {
	l := leaseObject{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
		Name: s.object(old.Name), Namespace: s.cluster.Namespace,
		Labels:      map[string]string{nameLabel: s.name},
		Annotations: map[string]string{valueAnnotation: string(value)},
	}}
	if strings.HasPrefix(old.Name, storekind.NotePrefix) {
		l.Metadata.Labels[noteLabel] = ""
	}
	// The UID makes an update fail where the object was deleted and made again. Without it the API
	// server would make the object anew.
	l.Metadata.UID, l.Metadata.ResourceVersion, _ = strings.Cut(old.Version, versionSeparator)
	l.Spec = newLeaseSpec(value)
	return l
}

// newLeaseSpec returns what kubectl is shown of a slot's value.
func newLeaseSpec(value []byte) (spec leaseSpec) {
	var slot struct {
		Owner string `json:"owner"`
		Until int64  `json:"until_ms"`
	}
	if json.Unmarshal(value, &slot) != nil || slot.Owner == "" {
		return spec
	}
	spec.HolderIdentity = slot.Owner
	now := time.Now()
	if d := time.UnixMilli(slot.Until).Sub(now); d > 0 {
		spec.LeaseDurationSeconds = int32(min(d/time.Second+1, 1<<30))
		spec.RenewTime = now.UTC().Format(microTime)
	}
	return spec
}

// versionSeparator stands between UID and resourceVersion in an entry's Version.
const versionSeparator = "/"

// object returns the name of an entry's object.
func (s *store) object(entry string) string { return s.name + "-" + entry }

// entry returns the entry that an object holds. An object that has the name of one of the store's
// objects, but not the store's label, is an error.
func (s *store) entry(l leaseObject) (lease.Entry, error) {
	name, ok := strings.CutPrefix(l.Metadata.Name, s.name+"-")
	if !ok || l.Metadata.Labels[nameLabel] != s.name {
		return lease.Entry{}, fmt.Errorf("%w: the lease %q has no label %s=%s: it is not one of "+
			"uidring's, or its label was removed", lease.ErrRefused, l.Metadata.Name,
			nameLabel, s.name)
	}
	return lease.Entry{
		Name:    name,
		Value:   []byte(l.Metadata.Annotations[valueAnnotation]),
		Version: l.Metadata.UID + versionSeparator + l.Metadata.ResourceVersion,
	}, nil
}
