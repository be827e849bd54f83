package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// slot is a slot as it was read.
type slot struct {
	worker int64
	node
	rec record
}

// scanners is how many slots are read at a time.
const scanners = 8

// scan reads all slots, lowest first. A slot whose data cannot be decoded counts as one whose
// window never passes.
func (at *attempt) scan(ctx context.Context) ([]slot, error) {
	t := at.a.tree
	names, err := call(ctx, t.s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(t.slots())
		return names, err
	})
	if err != nil {
		return nil, fmt.Errorf("assigner/zookeeper: listing %s: %w", t.slots(), err)
	}
	slots := make([]slot, 0, len(names))
	for _, name := range names {
		if worker, ok := t.worker(name); ok {
			slots = append(slots, slot{worker: worker, rec: record{Until: maxMillis}})
		}
	}
	slices.SortFunc(slots, func(a, b slot) int { return int(a.worker - b.worker) })
	_, err = call(ctx, t.s, func(c *zk.Conn) (struct{}, error) {
		errs := make(chan error, scanners)
		for i := range scanners {
			go func() { // ends when the library has answered, like the call around it
				var err error
				for j := i; j < len(slots) && err == nil; j += scanners {
					err = slots[j].read(c, t, at.a)
				}
				errs <- err
			}()
		}
		var all error
		for range scanners {
			all = errors.Join(all, <-errs)
		}
		return struct{}{}, all
	})
	if err != nil {
		return nil, fmt.Errorf("assigner/zookeeper: reading the slots: %w", err)
	}
	return slots, nil
}

// read fills s in. A slot that was deleted meanwhile stays as it is.
func (s *slot) read(c *zk.Conn, t *tree, a *Assigner) error {
	n, err := read(c, t.slot(s.worker))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	rec, err := decodeRecord(n.data)
	if err != nil {
		a.o.Logger.Warn("zookeeper slot left alone", "worker", s.worker, "error", err)
		return nil
	}
	s.node, s.rec = n, rec
	return nil
}
