package faults

import (
	"context"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// copier is an Assigner whose first two calls return two copies of one claim, as the memories of a
// virtual machine and its copy hold them. From the third call on it is the Assigner that it embeds.
type copier struct {
	assigner.Assigner
	claim assigner.Claim
	calls int
}

func (c *copier) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c.calls++
	if c.calls == 2 {
		return twin(c.claim), nil
	}
	claim, err := c.Assigner.Assign(ctx, maxWorker)
	if c.calls == 1 && err == nil {
		// Keep the claim for the second call, and return a copy, which the first generator may change.
		c.claim = claim
		claim = twin(claim)
	}
	return claim, err
}

// twin returns a copy of a claim of package lease, a struct whose first field points to its state.
func twin(c assigner.Claim) assigner.Claim {
	v := reflect.New(reflect.TypeOf(c)).Elem()
	v.Set(reflect.ValueOf(c))
	first := v.Field(0)
	state := reflect.NewAt(first.Type(), unsafe.Pointer(first.UnsafeAddr())).Elem()
	copied := reflect.New(state.Type().Elem())
	copied.Elem().Set(state.Elem())
	state.Set(copied)
	return v.Interface().(assigner.Claim)
}

// TestClones: two generators hold copies of one claim, as after a virtual machine was copied while
// it ran. Both may stamp what is left of the window that they share, and they do stamp the same ids:
// no process can see that it was copied. At the window's end this is over: one of them has extended
// the claim, and the other has lost it and has a worker id of its own.
func TestClones(t *testing.T) {
	t.Parallel()
	srv := servers.MariaDB(t)
	name := migrated(t, srv)
	leased := workernode.Leased(connect(t, srv.DSN(name)), &workernode.LeasedOptions{Window: window})
	a := &copier{Assigner: leased}
	alloc, err := bitsalloc.New(options().Layout)
	if err != nil {
		t.Fatal(err)
	}
	a.Assigner = a.Assigner.(assigner.LayoutBinder).BindLayout(alloc.Layout().String())
	var twins []*uid.Cached
	for range 2 {
		g, err := uid.NewCached(t.Context(), a, cached())
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
			n, _ := g.Fill(ctx, ids) // the lead may stop it, or an extension that is under way
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
		t.Errorf("%d ids were repeated after the shared window, such as %v, want none", s.Duplicates, s.First)
	}
	if inside == 0 {
		t.Error("no id was repeated inside the shared window: the generators are not copies")
	}
	one, two := twins[0].Stats(), twins[1].Stats()
	if one.Worker == two.Worker || one.Err != nil || two.Err != nil {
		t.Errorf("the copies have worker ids %d (%v) and %d (%v), want two worker ids and no errors",
			one.Worker, one.Err, two.Worker, two.Err)
	}
	t.Logf("%d ids were repeated within %v, and none after", inside, window)
}
