package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/test/internal/soak"
)

// counted is where ids of segments and numbers come from: the same database.
const counted = "segments"

// tag is the tag of the segment's ids.
const tag = "soak"

// count takes ids of a segment and numbers in turn until ctx ends, and writes them. It waits for a
// database that is down at the start.
func (o output) count(ctx context.Context, dsn string) error {
	db, err := openSQL(dsn)
	if err != nil {
		return err
	}
	// The steps are small, so that the database is asked often.
	options := &segment.Options{MaxStep: 2000}
	var g *segment.Generator
	var n *number.Number
	for n == nil && ctx.Err() == nil {
		if g == nil {
			g, err = segment.New(ctx, sqlsource.LeafAlloc(db, nil), options)
		}
		if g != nil {
			n, err = number.New(ctx, g, "order", "{20060102}-{n 9 day}", nil)
		}
		if err != nil && ctx.Err() == nil {
			o.failed(err)
		}
	}
	ids := make([]int64, 50)
	for number := false; ctx.Err() == nil; number = !number {
		kind, got := byte(frameCount), 0
		if number {
			kind = frameNumber
			for err = nil; got < len(ids) && err == nil; {
				var text string
				if text, err = n.Next(ctx); err == nil {
					ids[got], err = strconv.ParseInt(strings.ReplaceAll(text, "-", ""), 10, 64)
					got++
				}
			}
		} else {
			got, err = g.Fill(ctx, tag, ids)
		}
		if got > 0 && !o.Write(kind, soak.AppendIDs(nil, ids[:got])) {
			break
		}
		if err != nil && ctx.Err() == nil {
			o.failed(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if g != nil && g.Close() != nil {
		o.Write(frameError, []byte("Close: not given back"))
	}
	return nil
}

// failed writes the kind of an error of package segment or number, and rests.
func (o output) failed(err error) {
	o.Write(frameError, []byte("segments: "+soak.SourceError(err)))
	time.Sleep(100 * time.Millisecond)
}
