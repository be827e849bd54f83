package faults

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// copier is an Assigner that hands out its first claim as it comes and copies of it as the memory
// of a copied virtual machine would hold them; from the third call on it assigns like the one
// behind it.
type copier struct {
	assigner.Assigner
	claim assigner.Claim
	calls int
}

func (c *copier) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c.calls++
	if c.calls == 2 {
		twin := reflect.New(reflect.TypeOf(c.claim).Elem())
		twin.Elem().Set(reflect.ValueOf(c.claim).Elem())
		return twin.Interface().(assigner.Claim), nil
	}
	claim, err := c.Assigner.Assign(ctx, maxWorker)
	if c.calls == 1 && err == nil {
		// A copy of the copy, because the first generator changes its own.
		first := reflect.New(reflect.TypeOf(claim).Elem())
		first.Elem().Set(reflect.ValueOf(claim).Elem())
		c.claim = claim
		claim = first.Interface().(assigner.Claim)
	}
	return claim, err
}

// TestClones: two generators hold copies of one claim, as after a virtual machine was copied while
// it ran. Both may stamp what is left of the window that they share, and then they do stamp the
// same: nothing inside a process can see that it was copied. At the window's end it is over: one of
// them has extended, the other has lost the claim and gone on with a worker id of its own.
func TestClones(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	name := migrated(t, srv)
	a := &copier{Assigner: workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Window: window})}
	alloc, err := bitsalloc.New(options().Layout)
	if err != nil {
		t.Fatal(err)
	}
	a.Assigner = a.Assigner.(assigner.LayoutBinder).BindLayout(alloc.Layout().String())
	var twins []*uid.Cached
	for range 2 {
		g, err := uid.NewCached(t.Context(), a, options())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		twins = append(twins, g)
	}
	_, end := a.claim.Window()
	l, inside := newLedger(t), 0
	ids := make([]uid.ID, 256)
	for begin := time.Now(); time.Now().Before(end.Add(2 * window)); {
		for i, g := range twins {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			n, _ := g.Fill(ctx, ids) // what stops it is the lead, or the keeper at work
			cancel()
			for _, id := range ids[:n] {
				if p := g.Parse(id); p.Time.Before(end) && l.Has(id) {
					inside++
				} else {
					l.Add(i, []uid.ID{id})
				}
			}
		}
		if time.Since(begin) > patience {
			t.Fatal("the windows do not end")
		}
	}
	if s := l.Sum(); s.Duplicates != 0 {
		t.Errorf("%d ids came twice beyond the window that was shared, such as %v", s.Duplicates, s.First)
	}
	if inside == 0 {
		t.Error("no id came twice inside the window that was shared: the generators are not copies")
	}
	if one, two := twins[0].Stats(), twins[1].Stats(); one.Worker == two.Worker || one.Err != nil || two.Err != nil {
		t.Errorf("the twins are workers %d (%v) and %d (%v), want two worker ids", one.Worker, one.Err, two.Worker, two.Err)
	}
	t.Logf("%d ids came twice within %v, and none after", inside, window)
}
