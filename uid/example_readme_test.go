package uid_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/uid"
)

// The README shows the bodies of these functions, in this order; a test in internal/repocheck compares them.

func ExampleNewCached_readme() {
	ctx := context.Background()
	gen, err := uid.NewCached(ctx, assigner.Static(7), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()

	id, err := gen.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("made by worker", gen.Parse(id).Worker)
	// Output: made by worker 7
}

// It needs a database, so it is compiled and not run.
func ExampleNewCached_database() {
	ctx := context.Background()
	db, err := workernode.OpenMySQL(os.Getenv("UID_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	if err := workernode.Migrate(ctx, db); err != nil {
		log.Fatal(err)
	}
	gen, err := uid.NewCached(ctx, workernode.Leased(db, nil), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close()
}
