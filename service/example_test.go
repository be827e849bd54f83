package service_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// A server hands out worker ids, and its clients make ids by themselves.
func Example() {
	ctx := context.Background()
	// workers is workernode.Leased, or another authority.
	handler, err := service.NewHandler(&service.HandlerOptions{Workers: workers})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	client, err := service.NewClient([]string{server.URL}, nil)
	if err != nil {
		panic(err)
	}
	gen, err := uid.NewCached(ctx, client, nil)
	if err != nil {
		panic(err)
	}
	defer gen.Close()
	ids := make([]uid.ID, 3)
	if _, err := gen.Fill(ctx, ids); err != nil {
		panic(err)
	}
	fmt.Println(ids[0] < ids[1], ids[1] < ids[2])
	// Output: true true
}
