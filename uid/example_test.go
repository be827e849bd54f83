package uid_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// Many ids at once, as for a batch of rows.
func ExampleCached_Fill() {
	ctx := context.Background()
	gen, err := uid.NewCached(ctx, assigner.Static(1), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	ids := make([]uid.ID, 1000)
	n, err := gen.Fill(ctx, ids) // on an error the first n are set
	fmt.Println(n, err, ids[0] < ids[999])
	// Output: 1000 <nil> true
}

// Ids that end in the shard of their user: with two gene bits, order and user are on the same one
// of four shards.
func ExampleCached_FillGene() {
	ctx := context.Background()
	layout := bitsalloc.Layout{TimeBits: 30, WorkerBits: 16, SeqBits: 15, GeneBits: 2}
	gen, err := uid.NewCached(ctx, assigner.Static(1), &uid.Options{Layout: layout})
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	const user = 4711
	orders := make([]uid.ID, 3)
	_, err = gen.FillGene(ctx, user, orders)
	fmt.Println(err, user%4, orders[0]%4, orders[1]%4, orders[2]%4)
	// Output: <nil> 3 3 3 3
}

// A generator that reads the clock for every id and never runs ahead of it.
func ExampleNewDefault() {
	ctx := context.Background()
	gen, err := uid.NewDefault(ctx, assigner.Static(1), &uid.DefaultOptions{
		Layout:   bitsalloc.Layout{TimeBits: 31, WorkerBits: 14, SeqBits: 18},
		Rollback: uid.RollbackHold(time.Second), // what a clock that went back gets
	})
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	id, err := gen.Next(ctx)
	fmt.Println(err, time.Since(gen.Parse(id).Time) < 2*time.Second)
	// Output: <nil> true
}

// A layout of one's own: milliseconds, 64 workers, and ids that JavaScript numbers hold.
func ExampleOptions() {
	ctx := context.Background()
	gen, err := uid.NewCached(ctx, assigner.Static(1), &uid.Options{Layout: bitsalloc.Layout{
		TimeBits: 41, WorkerBits: 6, SeqBits: 6, Tick: time.Millisecond,
		Epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), // not to be changed later
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	id, err := gen.Next(ctx)
	fmt.Println(err, id < 1<<53, gen.Stats().Expires.Format(time.DateOnly))
	// Output: <nil> true 2095-09-07
}

// What to tell a client whose request got no id.
func ExampleTemporary() {
	ctx := context.Background()
	gen, err := uid.NewCached(ctx, assigner.Static(1), nil)
	if err != nil {
		log.Fatal(err)
	}
	gen.Close()
	_, err = gen.Next(ctx)
	switch {
	case errors.Is(err, uid.ErrClosed):
		fmt.Println("500: a call after Close")
	case uid.Temporary(err):
		fmt.Println("503: try again")
	}
	// Output: 500: a call after Close
}

// How well a generator does, for a probe, and for /debug/vars without another module.
func ExampleStats_Health() {
	gen, err := uid.NewCached(context.Background(), assigner.Static(1), nil)
	if err != nil {
		log.Fatal(err)
	}
	expvar.Publish("orders", expvar.Func(func() any { return gen.Stats() }))
	fmt.Println(gen.Stats().Health().Status)
	gen.Close()
	h := gen.Stats().Health()
	fmt.Println(h.Status, h.Reason)
	// Output:
	// up
	// down uid: generator is closed
}

// Close comes after the last caller and before the database pool. It waits for its goroutines, and
// gives the rest of the window back.
func ExampleCached_Close() {
	gen, err := uid.NewCached(context.Background(), assigner.Static(1), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := gen.Close(); err != nil {
		// Nothing need be done: the worker id is free when its window has passed.
		log.Print(err)
	}
	_, err = gen.Next(context.Background())
	fmt.Println(err)
	// Output: uid: generator is closed
}

// An id is taken apart without a generator by the layout that made it.
func ExampleParseParts() {
	layout, err := bitsalloc.New(bitsalloc.Layout{}) // the default
	if err != nil {
		log.Fatal(err)
	}
	p := uid.ParseParts(layout, 1<<50|7<<13|42)
	fmt.Println(p.Time.Format(time.DateTime), p.Worker, p.Seq)
	// Output: 2026-01-01 09:06:08 7 42
}
