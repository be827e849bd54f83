package doctor

import (
	"context"
	"fmt"
	"math"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/human"
)

// entries finds what is wrong with the entries of an authority, and with those of its peers.
func (p *Patient) entries(ctx context.Context) ([]Finding, error) {
	c, err := p.Condition(ctx)
	if err != nil {
		return nil, err
	}
	room, err := p.room(ctx)
	if err != nil {
		return nil, err
	}
	found := p.judge(c, room)
	for _, peer := range p.Peers {
		for _, f := range p.judge(peer.condition, room) {
			f.Text = peer.place + ": " + f.Text
			found = append(found, f)
		}
	}
	return found, nil
}

// room returns how many worker ids the layouts of the slots have, or, without slots that name any,
// the layouts that are to be deployed.
func (p *Patient) room(ctx context.Context) (int64, error) {
	leases, err := p.Leases(ctx)
	highest := int64(math.MaxInt64)
	for _, l := range leases {
		if eras, err := bitsalloc.ParseEras(l.Layout); err == nil {
			highest = min(highest, fewest(eras))
		}
	}
	if highest == math.MaxInt64 {
		highest = fewest(p.Eras)
	}
	return highest + 1, err
}

// fewest returns the highest worker id of the era that has the fewest: those of all eras fit it.
func fewest(eras *bitsalloc.Eras) int64 {
	highest := int64(math.MaxInt64)
	for _, a := range eras.All() {
		highest = min(highest, a.MaxWorker())
	}
	return highest
}

// judge returns what is wrong with the entries of an authority whose layouts have room for so many
// worker ids. Those that were given out and have no slot are lost. That is a warning where they are
// more than a fifth of the room: fewer do no harm, and a Restore leaves them too.
func (p *Patient) judge(c lease.Condition, room int64) []Finding {
	advice := "another program writes here, or another version; a slot may be deleted when its " +
		"process has ended and its window has passed, its worker id then stays out of use"
	if !c.Header {
		advice = "before more processes start: uid workers restored, see docs/operations.md"
	}
	var found []Finding
	for _, fault := range c.Faults {
		found = append(found, fail(p.Text(fault), advice))
	}
	switch {
	case found != nil:
		return found
	case !c.Header:
		return []Finding{ok("none: no worker id was ever claimed here")}
	}
	f := ok("a header, %s given out, and %s",
		human.Plural(int(c.Used), "worker id"), human.Plural(c.Slots, "slot"))
	if lost := min(c.Used-int64(c.Slots), room); lost > room/5 {
		f = warn(fmt.Sprintf("%s; of the layout's %s worker ids %s have no slot and are not given "+
			"out again", f.Text, human.Count(room), human.Count(lost)),
			"a start that crashes between the note and the slot of a new worker id leaves one, so "+
				"does a slot that is deleted by hand, and \"uid workers restored\" all up to "+
				"--highest: find the cause; a layout with more WorkerBits has more, see "+
				"docs/operations.md")
	}
	return []Finding{f}
}
