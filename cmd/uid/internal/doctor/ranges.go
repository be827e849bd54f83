package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/human"
)

// Peer is another database with the same namespaces, such as another region's.
type Peer struct {
	Place  string
	Leases []workernode.Lease
}

// ranges looks for worker ids that both databases have handed out in one namespace.
func (p *Patient) ranges(ctx context.Context) (found []Finding, err error) {
	leases, err := workernode.Leases(ctx, p.DB)
	if err != nil {
		return nil, err
	}
	ours, theirs := byNamespace(leases), byNamespace(p.Peer.Leases)
	const advice = "give each database a First and a Last of its own in LeasedOptions"
	for _, ns := range slices.Sorted(maps.Keys(ours)) {
		a, b := ours[ns], theirs[ns]
		if len(b) == 0 {
			continue
		}
		name := human.Printable(ns)
		i := slices.IndexFunc(a, func(w int64) bool {
			_, both := slices.BinarySearch(b, w)
			return both
		})
		switch {
		case i >= 0:
			found = append(found, fail(fmt.Sprintf("worker %d of namespace %s is in %s too: ids "+
				"may be equal", a[i], name, p.Peer.Place), advice))
		case slices.Min(a) < slices.Max(b) && slices.Min(b) < slices.Max(a):
			found = append(found, warn(fmt.Sprintf("the worker ids of namespace %s lie between "+
				"those of %s", name, p.Peer.Place), advice))
		}
	}
	if found == nil {
		found = []Finding{ok("no namespace has a worker id that %s has", p.Peer.Place)}
	}
	return found, nil
}

// byNamespace returns the worker ids of each namespace in the order of leases, which is ascending.
func byNamespace(leases []workernode.Lease) map[string][]int64 {
	m := map[string][]int64{}
	for _, l := range leases {
		m[l.Namespace] = append(m[l.Namespace], l.Worker)
	}
	return m
}
