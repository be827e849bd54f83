package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uid/internal/workerlist"
	"github.com/uidring/uidring/internal/human"
)

// namespaces checks how many worker ids of each namespace are in use, by the namespace's own
// layout. Worker ids that are used up there are held by processes that run: a start fails.
func (p *Patient) namespaces(ctx context.Context) ([]Finding, error) {
	leases, err := p.only(p.Leases(ctx))
	if err != nil {
		return nil, err
	}
	type room struct {
		name              string
		ids, held, layout int64
	}
	var rooms []*room
	for _, l := range leases {
		i := slices.IndexFunc(rooms, func(r *room) bool { return r.name == l.Namespace })
		if i < 0 {
			i = len(rooms)
			rooms = append(rooms, &room{name: l.Namespace})
		}
		r := rooms[i]
		r.ids++
		if !l.Free() {
			r.held++
		}
		if highest, known := highestWorker(l.Layout); known {
			r.layout = max(r.layout, highest+1)
		}
	}
	if p.Namespace != "" && rooms == nil {
		return []Finding{warn(fmt.Sprintf("%q has no leases", p.Namespace),
			"uid workers shows the namespaces that there are")}, nil
	}
	found := []Finding{ok("%s with leases", human.Plural(len(rooms), "namespace"))}
	for _, r := range rooms {
		text := fmt.Sprintf("%s: %s of %s worker ids held, %s used so far",
			human.Printable(r.name), human.Count(r.held), human.Count(r.layout), human.Count(r.ids))
		const advice = "end what holds worker ids and is not needed, or give the worker id " +
			"more bits"
		switch {
		case r.layout == 0: // no layout that can be read
		case r.held >= r.layout:
			found = append(found, fail(text+": no other process can start", advice))
		case r.held > r.layout/5*4:
			found = append(found, warn(text, advice))
		case p.Namespace != "":
			found = append(found, ok("%s", text))
		}
	}
	return found, nil
}

// highestWorker returns the highest worker id of the first of a list of layouts.
func highestWorker(list string) (int64, bool) {
	eras, err := bitsalloc.ParseEras(list)
	if err != nil {
		return 0, false
	}
	return eras.All()[0].MaxWorker(), true
}

// only returns the leases of the namespace to examine.
func (p *Patient) only(leases []workerlist.Lease, err error) ([]workerlist.Lease, error) {
	if p.Namespace != "" {
		leases = slices.DeleteFunc(leases,
			func(l workerlist.Lease) bool { return l.Namespace != p.Namespace })
	}
	return leases, err
}
