package uidtest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidtest"
)

// orders is a service under test.
type orders struct{ ids uid.Generator }

// place returns the number of a new order.
func (o orders) place(ctx context.Context) (string, error) {
	id, err := o.ids.Next(ctx)
	if err != nil {
		return "", fmt.Errorf("placing an order: %w", err)
	}
	return "order " + id.String(), nil
}

// A service that gets known ids.
func ExampleGenerator() {
	service := orders{&uidtest.Generator{IDs: []uid.ID{4711}}}
	fmt.Println(service.place(context.Background()))
	fmt.Println(service.place(context.Background()))
	// Output:
	// order 4711 <nil>
	// order 4712 <nil>
}

// A service that gets no ids.
func ExampleGenerator_Fail() {
	gen := &uidtest.Generator{}
	gen.Fail(0, uid.ErrClaimExpired)
	_, err := orders{gen}.place(context.Background())
	fmt.Println(err, uid.Temporary(err))
	// Output: placing an order: uid: claim expired true
}

// A real generator whose clock goes back by an hour.
func ExampleClock() {
	clock := uidtest.NewClock()
	gen, err := uid.NewCached(context.Background(), assigner.Static(1), &uid.Options{Clock: clock.Read})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gen.Close()
	service := orders{gen}
	clock.Step(-time.Hour)
	_, err = service.place(context.Background())
	fmt.Println(err, gen.Stats().Lead > 59*time.Minute)
	// Output: <nil> true
}
