package number_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/uid/opaque"
)

// memory returns a Generator that counts in memory. A program has sqlsource.LeafAlloc(db, nil).
func memory() *segment.Generator {
	gen, _ := segment.New(context.Background(), &segmenttest.Counters{}, nil)
	return gen
}

// today is the day of the examples.
func today() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func ExampleNumber_Next() {
	ctx, gen := context.Background(), memory()
	defer gen.Close()
	orders, err := number.New(ctx, gen, "order", "{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}",
		&number.Options{Clock: today})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, shop := range []string{"BJ", "BJ", "SH"} {
		text, err := orders.Next(ctx, shop)
		fmt.Println(text, err)
	}
	// Output:
	// BJ-20261122-000001-G <nil>
	// BJ-20261122-000002-E <nil>
	// SH-20261122-000001-P <nil>
}

func ExampleNumber_Parse() {
	ctx, gen := context.Background(), memory()
	defer gen.Close()
	orders, err := number.New(ctx, gen, "order", "{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := orders.Parse("BJ-20261122-000001-G")
	fmt.Println(p.Keys, p.Start.Format(time.DateOnly), p.Count, p.Tag, err)
	_, err = orders.Parse("BJ-20261122-000010-G") // two characters changed places
	fmt.Println(errors.Is(err, number.ErrText))
	// Output:
	// [BJ] 2026-11-22 1 order@20261122@BJ <nil>
	// true
}

func ExampleNumber_Fill() {
	ctx, gen := context.Background(), memory()
	defer gen.Close()
	tickets, err := number.New(ctx, gen, "ticket", "T{2006}{n plain 5 year}", &number.Options{Clock: today})
	if err != nil {
		fmt.Println(err)
		return
	}
	texts := make([]string, 3)
	n, err := tickets.Fill(ctx, texts)
	fmt.Println(texts[:n], err)
	// Output:
	// [T202622223 T202622224 T202622225] <nil>
}

// Invoices without gaps: the number is part of the transaction that stores the invoice. It has no
// output, because it needs a database.
func ExampleNewGapless() {
	ctx := context.Background()
	var db *sql.DB // of sql.Open, with the tables that "uid segment init" makes
	invoices, err := number.NewGapless(ctx, db, "mysql", "invoice", "INV-{2006}-{n 6 year gapless}", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback() // gives the number back, unless the transaction was committed
	text, err := invoices.Next(ctx, tx)
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO invoice (number) VALUES (?)", text)
	}
	if err == nil {
		err = tx.Commit()
	}
	fmt.Println(text, err)
}

// Coupons that nobody guesses: the counter is encrypted, and Parse with the key gives it back.
func ExampleOptions_hidden() {
	ctx, gen := context.Background(), memory()
	defer gen.Close()
	coupons, err := number.New(ctx, gen, "coupon", "{n plain 8 never hidden}", &number.Options{
		Keys: []opaque.Key{{Version: 1, Secret: []byte("a secret of 32 random bytes here")}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		text, err := coupons.Next(ctx)
		p, _ := coupons.Parse(text)
		fmt.Println(text, p.Count, err)
	}
	// Output:
	// T74JZJ8S 1 <nil>
	// 2TXKA643 2 <nil>
}
