package uidring_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// The README shows the bodies of these functions, in this order. A test in tools/repocheck
// compares them.

// ExampleOpen needs a database, so it is compiled and not run.
func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	logger := slog.Default()

	// user:password@tcp(host:3306)/database or mysql://user:password@host:3306/database
	gen, err := uidring.Open(ctx, os.Getenv("UID_DSN"), &uidring.Options{Logger: logger})
	if err != nil {
		log.Fatal(err)
	}
	defer gen.Close() // gives the worker id back

	id, err := gen.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	logger.Info("first id", "id", id, "worker", gen.Parse(id).Worker)
}

func Example_static() {
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
