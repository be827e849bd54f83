// Command importcsv stores the lines of a CSV file as events, a thousand in each INSERT. A line is
// the kind and the text of an event; there is no header. The program handles no ids itself: the
// plug-in sets those of a batch in one call.
//
//	UID_DSN='user:password@tcp(127.0.0.1:3306)/shop' go run ./examples/importcsv <events.csv
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"gorm.io/gorm"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
)

// Event is a line of the file.
type Event struct {
	ID   uid.ID
	Kind string
	Text string
}

const batch = 1000 // lines

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	n, err := run(ctx, os.Getenv("UID_DSN"), os.Stdin)
	slog.Info("imported", "events", n)
	if err != nil {
		slog.Error("importcsv", "error", err)
		os.Exit(1)
	}
}

// run imports from r, and returns how many lines it has stored, also together with an error.
func run(ctx context.Context, dsn string, r io.Reader) (n int, err error) {
	db, err := workernode.OpenMySQL(dsn)
	if err != nil {
		return 0, err
	}
	pool, err := db.DB()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	// An import borrows ids from the future: their time runs ahead, until the clock catches up.
	gen, err := uidring.OpenDB(ctx, db, &uidring.Options{Logger: slog.Default()})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, gen.Close()) }()
	if err := db.Use(uidgorm.New(gen, nil)); err != nil {
		return 0, err
	}
	if err := db.WithContext(ctx).AutoMigrate(&Event{}); err != nil {
		return 0, err
	}
	return load(db.WithContext(ctx), csv.NewReader(r))
}

// load stores batches until the file ends, and returns how many lines it has stored. A batch is
// stored as a whole or not at all.
func load(db *gorm.DB, lines *csv.Reader) (n int, err error) {
	lines.FieldsPerRecord = 2
	for more := true; more; {
		events := make([]Event, 0, batch)
		for len(events) < batch && more {
			line, err := lines.Read()
			switch {
			case errors.Is(err, io.EOF):
				more = false
			case err != nil:
				return n, fmt.Errorf("after %d stored events: %w", n, err)
			default:
				events = append(events, Event{Kind: line[0], Text: line[1]})
			}
		}
		if len(events) == 0 {
			break
		}
		if err := db.Create(&events).Error; err != nil {
			return n, fmt.Errorf("after %d stored events: %w", n, err)
		}
		n += len(events)
	}
	return n, nil
}
