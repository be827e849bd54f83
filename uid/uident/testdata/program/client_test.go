package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uident"
	"github.com/uidring/uidring/uid/uidtest"

	"example.com/orders/ent"
)

// counting counts the calls of a generator.
type counting struct {
	*uidtest.Generator
	mu    sync.Mutex
	fills []int // the lengths of what Fill was called for
	nexts int
}

func (c *counting) Fill(ctx context.Context, ids []uid.ID) (int, error) {
	c.mu.Lock()
	c.fills = append(c.fills, len(ids))
	c.mu.Unlock()
	return c.Generator.Fill(ctx, ids)
}

func (c *counting) Next(ctx context.Context) (uid.ID, error) {
	c.mu.Lock()
	c.nexts++
	c.mu.Unlock()
	return c.Generator.Next(ctx)
}

// calls returns the calls since the last time.
func (c *counting) calls() (fills []int, nexts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fills, nexts = c.fills, c.nexts
	c.fills, c.nexts = nil, 0
	return fills, nexts
}

// client returns a client on an empty database, whose rows a hook fills.
func client(t *testing.T) (*ent.Client, *counting) {
	t.Helper()
	dialect, driver := "mysql", "mysql"
	if dsn := os.Getenv("DSN"); strings.HasPrefix(dsn, "postgres") {
		dialect, driver = "postgres", "pgx"
	}
	db, err := sql.Open(driver, os.Getenv("DSN"))
	if err != nil {
		t.Fatal(err)
	}
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect, db)))
	t.Cleanup(func() { client.Close() })
	if err := client.Schema.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if o, err := client.Order.Create().SetItem("tea").Save(ctx); err == nil {
		t.Errorf("Create() without the hook stores %v, want an error", o)
	}
	for _, del := range []func(context.Context) (int, error){
		client.Line.Delete().Exec, client.Order.Delete().Exec, client.Label.Delete().Exec,
	} {
		if _, err := del(ctx); err != nil {
			t.Fatal(err)
		}
	}
	gen := &counting{Generator: &uidtest.Generator{}}
	client.Use(uident.Fill(gen))
	return client, gen
}

const rows = 1000 // of a batch

// TestBatch: a batch of rows is one Fill, and what was stored has the ids that were returned, with its
// edges, each id once.
func TestBatch(t *testing.T) {
	client, gen := client(t)
	ctx := t.Context()
	used := map[uid.ID]string{}
	use := func(id uid.ID, what string) {
		if other, twice := used[id]; twice || id == 0 {
			t.Fatalf("%s has the id %d, which %q has", what, id, other)
		}
		used[id] = what
	}
	one := func(what string) {
		t.Helper()
		if fills, nexts := gen.calls(); !slices.Equal(fills, []int{rows}) || nexts != 0 {
			t.Errorf("%d %s are %d Fills and %d Next, want one Fill of all", rows, what, len(fills), nexts)
		}
	}
	labels, err := client.Label.MapCreateBulk(make([]int, rows), func(*ent.LabelCreate, int) {}).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	one("labels")
	orders, err := client.Order.MapCreateBulk(labels, func(o *ent.OrderCreate, i int) {
		o.SetItem("tea").AddLabels(labels[i], labels[(i+1)%rows])
	}).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	one("orders")
	lines, err := client.Line.MapCreateBulk(orders, func(l *ent.LineCreate, i int) {
		l.SetNumber(i).SetOrder(orders[i])
	}).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	one("lines")
	for i := range rows {
		use(labels[i].ID, "a label")
		use(orders[i].ID, "an order")
		use(lines[i].ID, "a line")
	}
	stored, err := client.Order.Query().WithLines().WithLabels().All(ctx)
	if err != nil || len(stored) != rows {
		t.Fatalf("%d orders are stored, %v, want %d", len(stored), err, rows)
	}
	slices.SortFunc(stored, func(a, b *ent.Order) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(orders, func(a, b *ent.Order) int { return cmp.Compare(a.ID, b.ID) })
	for i, o := range stored {
		l := o.Edges.Lines
		if o.ID != orders[i].ID || len(l) != 1 || l[0].ID != lines[l[0].Number].ID || len(o.Edges.Labels) != 2 {
			t.Fatalf("order %d is stored as %v with %v and %v", i, o, l, o.Edges.Labels)
		}
	}
	// The edge of the other table: an order that is made after its lines.
	spare, err := client.Line.Create().SetNumber(-1).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	last, err := client.Order.CreateBulk(client.Order.Create().SetItem("pot").AddLines(spare)).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := last[0].QueryLines().OnlyID(ctx); err != nil || id != spare.ID {
		t.Errorf("the order's line is %d, %v, want %d", id, err, spare.ID)
	}
}

// TestRows: an id that is set stays, an UPDATE takes none, a transaction is filled, and a batch that gets
// no ids stores nothing.
func TestRows(t *testing.T) {
	client, gen := client(t)
	ctx := t.Context()
	if o, err := client.Order.Create().SetItem("tea").Save(ctx); err != nil || o.ID != 1 {
		t.Errorf("Create() = %v, %v, want id 1", o, err)
	}
	set, err := client.Order.CreateBulk(client.Order.Create().SetItem("cup").SetID(4711),
		client.Order.Create().SetItem("jug").SetID(4712)).Save(ctx)
	if err != nil || set[0].ID != 4711 || set[1].ID != 4712 {
		t.Errorf("CreateBulk() with ids = %v, %v, want 4711 and 4712", set, err)
	}
	mixed, err := client.Order.CreateBulk(client.Order.Create().SetItem("pot"),
		client.Order.Create().SetItem("mug").SetID(4713), client.Order.Create().SetItem("jar")).Save(ctx)
	if err != nil || mixed[0].ID != 2 || mixed[1].ID != 4713 || mixed[2].ID != 3 {
		t.Errorf("CreateBulk() with one id of its own = %v, %v, want 2, 4713 and 3", mixed, err)
	}
	gen.calls()
	if n, err := client.Order.Update().SetItem("ware").Save(ctx); err != nil || n != 6 {
		t.Errorf("Update() = %d rows, %v, want 6", n, err)
	}
	if fills, nexts := gen.calls(); fills != nil || nexts != 0 {
		t.Errorf("Update() takes ids: Fills of %v, %d Next", fills, nexts)
	}
	tx, err := client.Tx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Order.Create().SetItem("lid").Save(ctx); err != nil {
		t.Errorf("Create() in a transaction: %v", err)
	}
	if fills, _ := gen.calls(); !slices.Equal(fills, []int{1}) {
		t.Errorf("Create() after an Update is Fills of %v, want one of 1", fills)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	gen.Fail(1, uid.ErrClaimExpired)
	_, err = client.Order.CreateBulk(client.Order.Create().SetItem("lid"),
		client.Order.Create().SetItem("tap")).Save(ctx)
	if !errors.Is(err, uid.ErrClaimExpired) {
		t.Errorf("CreateBulk() with one id for two rows = %v, want %v", err, uid.ErrClaimExpired)
	}
	if n, err := client.Order.Query().Count(ctx); err != nil || n != 7 {
		t.Errorf("%d orders are stored, %v, want 7", n, err)
	}
}

// TestConcurrent: batches of many goroutines get each id once.
func TestConcurrent(t *testing.T) {
	client, _ := client(t)
	const goroutines, batch = 8, 50
	all := make([][]*ent.Order, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			var err error
			all[g], err = client.Order.MapCreateBulk(make([]int, batch), func(o *ent.OrderCreate, _ int) {
				o.SetItem("tea")
			}).Save(t.Context())
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[uid.ID]bool{}
	for _, o := range slices.Concat(all...) {
		if seen[o.ID] {
			t.Errorf("the id %d is repeated", o.ID)
		}
		seen[o.ID] = true
	}
	if n, err := client.Order.Query().Count(t.Context()); err != nil || n != goroutines*batch || len(seen) != n {
		t.Errorf("%d orders are stored, %v, and %d ids returned, want %d", n, err, len(seen), goroutines*batch)
	}
}
