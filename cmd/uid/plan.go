package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/human"
)

type planCmd struct {
	layoutFlags `embed:""`
	goalFlags   `embed:""`
	Above       *int64 `placeholder:"ID" help:"Let every id lie above this one, such as the highest that a table has. The epoch is then --from."`
	From        string `placeholder:"TIME" help:"For --above: the instant at which the first ids are made, in the forms of --epoch. Default: now."`
	JSON        bool   `help:"Print one JSON object."`
}

// goalFlags say what a layout has to do.
type goalFlags struct {
	Years    float64       `placeholder:"N" help:"Time bits for this many years from today. Default: 30, if another goal is given."`
	Workers  int64         `placeholder:"N" help:"Processes that make ids at the same time."`
	Rate     float64       `placeholder:"N" help:"Ids a second of each worker. With --layout: how that layout copes with it."`
	Restarts float64       `placeholder:"N" help:"Restarts a day of each worker. Every restart takes a new worker id from WORKER_NODE. Leave it out for leased worker ids, which are used again."`
	Burst    time.Duration `placeholder:"DURATION" help:"How long --rate lasts at a time. Default: always."`
	Bits     int           `default:"63" help:"Bits that an id may have; 53 for ids that JavaScript numbers hold."`
	GeneBits int           `placeholder:"N" help:"Low bits that carry a shard gene."`
}

// bitsMax is how many bits an id has below the sign.
const bitsMax = 63

// Run plans a layout that reaches the goals, or takes the one that --layout names, and prints what
// it can do.
func (c *planCmd) Run(ctx context.Context, p *program) error {
	if err := c.check(); err != nil {
		return err
	}
	now := p.now()
	var spare string
	asks := c.Years > 0 || c.Workers > 0 || c.Bits != bitsMax || c.GeneBits > 0
	switch {
	case c.Burst > 0 && c.Rate == 0:
		return usagef("--burst is how long --rate lasts, and there is no --rate")
	case c.Layout != "" && asks:
		return usagef("--layout names a layout, --years, --workers, --bits and --gene-bits " +
			"ask for one: give one or the other")
	case asks, c.Layout == "" && (c.Rate > 0 || c.Restarts > 0):
		var err error
		if c.Layout, spare, err = c.fit(now); err != nil {
			return err
		}
	}
	layout, err := c.resolveToMake()
	if err != nil {
		return err
	}
	given, err := c.above(&layout, now)
	if err != nil {
		return err
	}
	r := newPlanReport(ctx, layout.alloc, &c.goalFlags, now)
	r.Spare, r.Given = spare, given
	if c.JSON {
		return json.NewEncoder(p.out).Encode(r)
	}
	return r.print(p.out)
}

// above moves the layout above the id of --above, and returns a sentence about what that costs.
func (c *planCmd) above(n *namedLayout, now time.Time) (given string, err error) {
	switch {
	case len(n.eras.All()) > 1:
		return "", usagef("--layout %q: plan looks at one layout, uid eras at a list", c.Layout)
	case c.Above == nil && c.From != "":
		return "", usagef("--from is for --above")
	case c.Above == nil:
		return "", nil
	case *c.Above < 0:
		return "", usagef("--above is %d, want 0 or more", *c.Above)
	case c.Epoch != "":
		return "", usagef("--above begins at --from; leave --epoch out")
	}
	from, err := c.begin(now)
	if err != nil {
		return "", err
	}
	l, err := n.alloc.Layout().Above(*c.Above, from)
	if err != nil {
		return "", err // it says how many bits are missing
	}
	if n.alloc, err = bitsalloc.New(l); err != nil {
		return "", err
	}
	return fmt.Sprintf("the ids up to %d: %s of %s ticks, %.3g %% of the time",
		n.alloc.First(from)-1, human.Count(l.FirstTick), human.Count(n.alloc.MaxTick()+1),
		100*float64(l.FirstTick)/float64(n.alloc.MaxTick()+1)), nil
}

// begin returns the instant at which the first ids above --above are made.
func (c *planCmd) begin(now time.Time) (time.Time, error) {
	if c.From == "" {
		return now.UTC().Truncate(time.Second), nil
	}
	return parseInstant("--from", c.From)
}

// check returns an error for a goal that is out of range.
func (g *goalFlags) check() error {
	for _, f := range []struct {
		name        string
		v, min, max float64
	}{
		{"--years", g.Years, 0, 1e9},
		{"--workers", float64(g.Workers), 0, 1 << 61},
		{"--rate", g.Rate, 0, 1e15},
		{"--restarts", g.Restarts, 0, 1e6},
		{"--bits", float64(g.Bits), 3, bitsMax},
		{"--gene-bits", float64(g.GeneBits), 0, float64(g.Bits - 3)},
	} {
		if math.IsNaN(f.v) || f.v < f.min || f.v > f.max {
			return usagef("%s is %v, want %v..%v", f.name, f.v, f.min, f.max)
		}
	}
	return nil
}

// fit returns the text of a layout that reaches the goals, and a sentence about the bits that were
// left over. The defaults are 30 years, one worker and one id a second.
//
// Bits that are left over go first to the worker id, because restarts use it up, and then to the
// sequence. Without --rate the sequence comes first. Each gets at most the default layout's width,
// and the time gets the rest.
func (c *planCmd) fit(now time.Time) (text, spare string, err error) {
	like, err := (&layoutFlags{Epoch: c.Epoch, Tick: c.Tick}).resolve()
	if err != nil {
		return "", "", err
	}
	layout := like.alloc.Layout()
	years, workers := c.Years, float64(max(c.Workers, 1))
	if years == 0 {
		years = 30
	}
	workers += workers * c.Restarts * 365.25 * years
	epoch, flag := layout.Epoch, "--epoch"
	if c.Above != nil {
		flag = "--from"
		if epoch, err = c.begin(now); err != nil {
			return "", "", err
		}
	}
	ticks := (now.Sub(epoch).Seconds() + years*human.Year.Seconds()) / layout.Tick.Seconds()
	if ticks < 1 {
		return "", "", usagef("%s %s lies beyond the %v years planned for",
			flag, epoch.Format(time.RFC3339), years)
	}
	if c.Above != nil { // the years have to fit into the part of the ids that lies above
		part := 1 - (float64(*c.Above)+1)/math.Ldexp(1, c.Bits)
		if part <= 0 {
			return "", "", fmt.Errorf("--above is %d, and ids of %d bits end at %d",
				*c.Above, c.Bits, int64(uint64(1)<<c.Bits-1))
		}
		ticks = ticks/part + 1
	}
	needTime, needWorker := max(1, widthFor(ticks)), widthFor(workers)
	needSeq := max(1, widthFor(c.Rate*layout.Tick.Seconds()))
	left := c.Bits - c.GeneBits - needTime - needWorker - needSeq
	if left < 0 {
		return "", "", fmt.Errorf("no layout does that: time %d + worker %d + sequence %d + "+
			"gene %d = %d bits, there are %d; lower a goal, or leave --rate to borrowing from "+
			"the future and plan for the rate over the day",
			needTime, needWorker, needSeq, c.GeneBits, c.Bits-left, c.Bits)
	}
	const workerBits, seqBits = 22, 13 // the default layout's
	toWorker := max(0, min(left, workerBits-needWorker))
	toSeq := max(0, min(left-toWorker, seqBits-needSeq))
	if c.Rate == 0 {
		toSeq = max(0, min(left, seqBits-needSeq))
		toWorker = max(0, min(left-toSeq, workerBits-needWorker))
	}
	toTime := left - toWorker - toSeq
	if left > 0 {
		spare = fmt.Sprintf("%d: %d to the time, %d to the worker id, %d to the sequence",
			left, toTime, toWorker, toSeq)
	}
	text = fmt.Sprintf("%d-%d-%d-%d",
		needTime+toTime, needWorker+toWorker, needSeq+toSeq, c.GeneBits)
	return text, spare, nil
}

// widthFor returns how many bits n different values take.
func widthFor(n float64) int {
	if n <= 1 {
		return 0
	}
	if n > 1<<62 {
		return bitsMax
	}
	return bits.Len64(uint64(math.Ceil(n)) - 1)
}
