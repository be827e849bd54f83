package uid_test

import (
	"context"
	"fmt"
	"log"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// The README shows the body of this function; a test in internal/repocheck compares the two.
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
