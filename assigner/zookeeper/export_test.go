package zookeeper

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner"
)

// SetClock replaces the local clock. It must be called before the first Assign.
func (a *Assigner) SetClock(now func() time.Time) { a.now = now }

// SetBoot replaces the kernel's boot id.
func (a *Assigner) SetBoot(id string) { a.cache.boot = func() (string, error) { return id, nil } }

// Pending returns how many writes of a claim have an unknown outcome.
func Pending(c assigner.Claim) int { return len(c.(*claim).pending) }

// Clone returns a second claim in the state of the first, as a copied virtual machine would hold
// it.
func Clone(c assigner.Claim) assigner.Claim {
	o := c.(*claim)
	o.a.claims.Add(1)
	return &claim{a: o.a, layout: o.layout, worker: o.worker, from: o.from,
		until: o.until, token: o.token,
		version: o.version, reserved: o.reserved, usable: o.usable, front: o.front}
}

// Peers returns how many ephemeral nodes there are.
func (a *Assigner) Peers(ctx context.Context) (int, error) {
	return call(ctx, a.session, func(c *zk.Conn) (int, error) {
		names, _, err := c.Children(a.tree.peers())
		return len(names), err
	})
}

// PutSlot creates a node among the slots.
func (a *Assigner) PutSlot(ctx context.Context, name string, data []byte) error {
	return a.tree.make(ctx, a.tree.slots()+"/"+name, data)
}

// RawSlot returns what the node of a worker id's slot holds.
func (a *Assigner) RawSlot(ctx context.Context, worker int64) ([]byte, error) {
	n, err := a.tree.get(ctx, a.tree.slot(worker))
	return n.data, err
}

// DeleteSlot deletes a worker id's slot.
func (a *Assigner) DeleteSlot(ctx context.Context, worker int64) error {
	return a.tree.remove(ctx, a.tree.slot(worker))
}

// ReadSlot returns the stored end of a worker id's window.
func (a *Assigner) ReadSlot(ctx context.Context, worker int64) (instance string, until time.Time, err error) {
	n, err := a.tree.get(ctx, a.tree.slot(worker))
	if err != nil {
		return "", until, err
	}
	rec, err := decodeRecord(n.data)
	return rec.Instance, millis(rec.Until), err
}

// Layout returns what the layout node holds, after it was set to text if that is not empty.
func (a *Assigner) Layout(ctx context.Context, text string) (string, error) {
	if text != "" {
		if _, err := a.tree.set(ctx, a.tree.layoutPath(), []byte(text), -1); err != nil {
			return "", err
		}
	}
	n, err := a.tree.get(ctx, a.tree.layoutPath())
	return string(n.data), err
}
