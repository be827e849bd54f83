package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/workertable"
)

// Peer is another database with the same namespaces, such as another region's, or another store of
// the same universe.
type Peer struct {
	place   string
	workers map[string][]int64 // that it has handed out, by namespace, in ascending order

	condition lease.Condition // of a store
}

// NewSlotsPeer returns the Peer of a store with these slots, whose namespace is the empty text.
func NewSlotsPeer(slots []workerlist.Lease, place string, c lease.Condition) Peer {
	peer := Peer{place, map[string][]int64{}, c}
	for _, l := range slots {
		peer.workers[l.Namespace] = append(peer.workers[l.Namespace], l.Worker)
	}
	return peer
}

// newest bounds how many rows of WORKER_NODE are compared.
const newest = 10_000

// NewPeer reads the worker ids that a database has handed out.
func NewPeer(ctx context.Context, db *gorm.DB, place string) (Peer, error) {
	leases, err := workerlist.Leases(ctx, db)
	if err != nil {
		return Peer{}, err
	}
	nodes, err := workerlist.Nodes(ctx, db, newest)
	if err != nil {
		return Peer{}, err
	}
	peer := NewSlotsPeer(leases, place, lease.Condition{})
	// Disposable leaves no lease.
	shared := peer.workers[workertable.DefaultNamespace]
	for _, n := range nodes {
		shared = append(shared, n.ID)
	}
	if len(shared) > 0 {
		slices.Sort(shared)
		peer.workers[workertable.DefaultNamespace] = slices.Compact(shared)
	}
	return peer, nil
}

// self returns what is compared with the peers.
func (p *Patient) self(ctx context.Context) (Peer, error) {
	if p.DB != nil {
		return NewPeer(ctx, p.DB, p.Place)
	}
	slots, err := p.Leases(ctx)
	return NewSlotsPeer(slots, p.Place, lease.Condition{}), err
}

// ranges looks for worker ids that two of the databases, or stores, have handed out in one
// namespace.
func (p *Patient) ranges(ctx context.Context) (found []Finding, err error) {
	us, err := p.self(ctx)
	if err != nil {
		return nil, err
	}
	all := append([]Peer{us}, p.Peers...)
	for i, a := range all {
		for _, b := range all[:i] {
			found = append(found, b.compare(a)...)
		}
	}
	if found == nil {
		kind := "databases"
		if p.DB == nil {
			kind = "stores"
		}
		found = []Finding{ok("no two of %d %s have a worker id of one namespace", len(all), kind)}
	}
	return found, nil
}

// compare returns what is wrong with two databases.
func (a Peer) compare(b Peer) (found []Finding) {
	for _, ns := range slices.Sorted(maps.Keys(a.workers)) {
		ours, theirs := a.workers[ns], b.workers[ns]
		if len(theirs) == 0 {
			continue
		}
		advice := "give each database a First and a Last of its own in LeasedOptions"
		if ns == workertable.DefaultNamespace {
			advice += ", with a Namespace, because " + ns + " has no First"
		}
		name := "namespace " + human.Printable(ns)
		if ns == "" {
			name = "the universe"
			advice = "give each store a First and a Last of its own in Options"
		}
		i := slices.IndexFunc(ours, func(w int64) bool {
			_, both := slices.BinarySearch(theirs, w)
			return both
		})
		switch {
		case i >= 0:
			found = append(found, fail(fmt.Sprintf("worker %d of %s is in %s and in %s: "+
				"ids may be equal", ours[i], name, a.place, b.place), advice))
		case ours[0] < theirs[len(theirs)-1] && theirs[0] < ours[len(ours)-1]:
			found = append(found, warn(fmt.Sprintf("the worker ids of %s in %s lie "+
				"between those in %s", name, a.place, b.place), advice))
		}
	}
	return found
}
