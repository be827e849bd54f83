package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/uidring/uidring/assigner"
)

// The layout node keeps the layouts that all slots are for. A claim that knows more adds them in
// two steps, because no write covers all slots:
//
//	A ──► A|B ──► A,B      B is announced, and then settled if no window reaches beyond its begin
//	      A|B ──► A        else it is taken back
//
// A claim that knows only A writes its slot and then reads the layout node; its window is as long
// as both permit. A claim that adds B writes the layout node and then reads the slots. ZooKeeper
// orders all writes, and a session reads nothing older than what it wrote. So either the first sees
// B and cuts its window, or the second sees the slot and takes B back. The node's version makes
// sure that what is settled is what was looked at.

// layoutPath returns the path of the layout node.
func (t *tree) layoutPath() string { return t.root + "/layout" }

// compareLayouts compares the layouts of the root, as a node has them, with those of a claim.
func (t *tree) compareLayouts(n node, layout string) (cut, added time.Time, err error) {
	cut, added, err = assigner.CompareLayouts(strings.ReplaceAll(string(n.data), "|", ","), layout)
	if err != nil {
		err = fmt.Errorf("%w; give the generators of %s one layout, or a root of their own",
			err, t.root)
	}
	return cut, added, err
}

// cut returns where windows for layout end, the zero time if nowhere.
func (t *tree) cut(ctx context.Context, layout string) (time.Time, error) {
	n, err := t.get(ctx, t.layoutPath())
	if err != nil {
		return time.Time{}, err
	}
	cut, _, err := t.compareLayouts(n, layout)
	return cut, err
}

// bind makes the attempt's layouts the root's, and returns where its windows end, the zero time if
// nowhere. An empty layout is one like any other: no claim that names one is made next to it.
func (at *attempt) bind(ctx context.Context) (cut time.Time, err error) {
	t := at.a.tree
	first := strings.Replace(at.layout, ",", "|", 1) // the others are announced
	err = t.make(ctx, t.layoutPath(), []byte(first))
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return cut, err
	}
	for {
		n, err := t.get(ctx, t.layoutPath())
		if err != nil {
			return cut, err
		}
		cut, added, err := t.compareLayouts(n, at.layout)
		settled := !strings.Contains(string(n.data), "|")
		if err != nil || !cut.IsZero() || added.IsZero() && settled {
			return cut, err
		}
		if err := at.addLayouts(ctx, n); err != nil && !errors.Is(err, zk.ErrBadVersion) {
			return cut, err
		}
	}
}

// addLayouts takes the next step towards the attempt's layouts, of which n, the layout node, lacks
// some: it announces them, or settles what is announced, or takes it back.
func (at *attempt) addLayouts(ctx context.Context, n node) error {
	has := string(n.data)
	before, _, announced := strings.Cut(has, "|")
	to := strings.ReplaceAll(has, "|", ",")
	if !announced {
		to = has + "|" + at.layout[len(has)+1:]
	}
	_, begin, err := assigner.CompareLayouts(before, strings.ReplaceAll(to, "|", ","))
	if err != nil {
		return err
	}
	slots, err := at.scan(ctx)
	if err != nil {
		return err
	}
	var refused error
	for _, s := range slots {
		if until := millis(s.rec.Until); until.After(begin) {
			refused = fmt.Errorf("%w: a layout of %q begins at %v, and the window of worker id "+
				"%d under %s reaches %v; let it begin later",
				assigner.ErrLayoutMismatch, at.layout, begin, s.worker, at.a.o.Root, until)
			to = before
		}
	}
	if refused != nil && !announced {
		return refused
	}
	_, err = at.a.tree.set(ctx, at.a.tree.layoutPath(), []byte(to), n.version)
	return errors.Join(refused, err)
}

// earlier returns t, or cut if there is one and it is earlier.
func earlier(t, cut time.Time) time.Time {
	if !cut.IsZero() && cut.Before(t) {
		return cut
	}
	return t
}

// errSuperseded is the error of a window that would have to reach beyond cut.
func errSuperseded(a *Assigner, cut time.Time) error {
	return fmt.Errorf("%w: under %s it begins at %v", assigner.ErrSuperseded, a.o.Root, cut)
}
