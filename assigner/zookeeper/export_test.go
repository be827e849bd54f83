package zookeeper

import (
	"context"
	"time"

	"github.com/uidring/uidring/assigner"
)

// SetClock replaces the local clock. It must be called before the first Assign.
func (a *Assigner) SetClock(now func() time.Time) { a.now = now }

// SetBoot replaces the kernel's boot id.
func (a *Assigner) SetBoot(id string) { a.cache.boot = func() (string, error) { return id, nil } }

// Pending returns how many writes of a claim have an unknown outcome.
func Pending(c assigner.Claim) int { return len(c.(*claim).pending) }

// Clone returns a second claim in the state of the first, as a copied virtual machine would hold it.
func Clone(c assigner.Claim) assigner.Claim {
	o := c.(*claim)
	return &claim{a: o.a, layout: o.layout, peer: o.peer, worker: o.worker, from: o.from, until: o.until, token: o.token,
		version: o.version, reserved: o.reserved, front: o.front}
}

// Peers returns the names of the ephemeral nodes.
func (a *Assigner) Peers(ctx context.Context) (int, error) {
	offsets, err := a.offsets(a.session.zk, "")
	return len(offsets), err
}

// PutSlot creates a node among the slots.
func (a *Assigner) PutSlot(ctx context.Context, name string, data []byte) error {
	return a.tree.make(ctx, a.tree.slots()+"/"+name, data)
}

// DeleteSlot deletes a worker id's slot.
func (a *Assigner) DeleteSlot(ctx context.Context, worker int64) error {
	return a.tree.remove(ctx, a.tree.slots()+"/"+slotName(worker))
}

// ReadSlot returns the stored end of a worker id's window.
func (a *Assigner) ReadSlot(ctx context.Context, worker int64) (instance string, until time.Time, err error) {
	n, err := a.tree.get(ctx, a.tree.slots()+"/"+slotName(worker))
	if err != nil {
		return "", until, err
	}
	rec, err := decodeRecord(n.data)
	return rec.Instance, millis(rec.Until), err
}
