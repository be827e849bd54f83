package etcd_test

import (
	"context"
	"fmt"
	"log"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/uid"
)

// Worker ids come from the etcd that a service has already.
func Example() {
	ctx := context.Background()
	workers, err := etcd.Open(clientv3.Config{Endpoints: []string{"etcd-0:2379", "etcd-1:2379"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer workers.Close()
	gen, err := uid.NewCached(ctx, workers, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
	id, err := gen.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id)
}
