package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/uid"
)

// layoutFlags name a layout.
type layoutFlags struct {
	Layout string        `placeholder:"LAYOUT" help:"default, baidu, baidu-sample, twitter, hutool, leaf, shardgene, keyworker, keyworker-original, or the widths of time, worker, sequence and gene such as 41-10-12 or 41-10-10-2, and optionally /TICK and @EPOCH. Eras follow after commas, each with the @EPOCH at which it begins."`
	Epoch  string        `placeholder:"TIME" help:"The instant of tick 0: 2026-01-01, 2026-01-01T00:00:00Z or unix milliseconds. A date without a zone is UTC."`
	Tick   time.Duration `placeholder:"DURATION" help:"Length of a tick, such as 1ms or 1s."`
}

// preset is a layout with a name.
type preset struct {
	name       string
	layout     func() bitsalloc.Layout
	centreBits int // part of the worker field that its system calls the data centre

	// decode takes ids apart that no layout describes; nil for all but those of the original
	// KeyWorker.
	decode func(id int64) uid.Parts
}

func presets() []preset {
	return []preset{
		{name: "default", layout: func() bitsalloc.Layout { return bitsalloc.Layout{} }},
		{name: "baidu", layout: compat.Baidu},
		{name: "baidu-sample", layout: compat.BaiduSample},
		{name: "twitter", layout: compat.Twitter, centreBits: 5},
		{name: "hutool", layout: compat.Twitter, centreBits: 5},
		{name: "leaf", layout: compat.Twitter},
		{name: "shardgene", layout: compat.ShardGene, centreBits: 5},
		{name: "keyworker", layout: compat.Twitter, centreBits: 5},
		{
			name: "keyworker-original", layout: compat.Twitter, centreBits: 5,
			decode: decodeKeyWorker,
		},
	}
}

func presetNames() (names []string) {
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

// decodeKeyWorker returns the parts of an id of the original KeyWorker, whose sign bit belongs to
// the time. Its process and machine are in the places of data centre and worker.
func decodeKeyWorker(id int64) uid.Parts {
	t, process, machine, seq := compat.DecodeKeyWorker(id)
	tick := int64(uint64(id) >> 22)
	return uid.Parts{ID: uid.ID(id), Time: t, Tick: tick, Worker: process<<5 | machine, Seq: seq}
}

// namedLayout is the layout that the flags name.
type namedLayout struct {
	preset
	alloc *bitsalloc.Allocator // of the first era
	eras  *bitsalloc.Eras
}

// options returns the options of a generator of the layout.
func (n *namedLayout) options() *uid.Options {
	return &uid.Options{Layout: n.alloc.Layout(), Eras: n.later()}
}

// later returns the eras after the first one.
func (n *namedLayout) later() (eras []bitsalloc.Era) {
	for _, a := range n.eras.All()[1:] {
		eras = append(eras, bitsalloc.Era{From: a.Layout().Epoch, Layout: a.Layout()})
	}
	return eras
}

// last returns the Allocator of the last era.
func (n *namedLayout) last() *bitsalloc.Allocator { return n.eras.All()[len(n.eras.All())-1] }

// parts returns the parts of id, or an error if the layout has no such id.
func (n *namedLayout) parts(id uid.ID) (uid.Parts, error) {
	if n.decode != nil {
		return n.decode(int64(id)), nil
	}
	if most := n.last().MaxID(); id < 0 || int64(id) > most {
		return uid.Parts{}, fmt.Errorf("is outside of the layout %s, whose ids are 0..%d",
			n.eras, most)
	}
	return uid.ParseParts(n.eras.Of(int64(id)), id), nil
}

// site divides a worker id into data centre and worker.
func (n *namedLayout) site(worker int64) (centre, local int64) {
	bits := n.alloc.Layout().WorkerBits - n.centreBits
	return worker >> bits, worker & (1<<bits - 1)
}

// usable returns an error if the layout has no ticks at now. Commands call it before they claim a
// worker id.
func (n *namedLayout) usable(now time.Time) error {
	layout := n.alloc.Layout()
	if layout.Epoch.After(now) {
		return usagef("--epoch: the layout %s begins at %s, want an instant before now",
			layout, layout.Epoch.Format(time.RFC3339))
	}
	if end := n.last().Expires(); !end.After(now) {
		return fmt.Errorf("the layout %s has no ticks left: it ran out at %s; give a later "+
			"--epoch or more time bits", n.eras, end.Format(time.RFC3339))
	}
	return nil
}

// resolveToMake is resolve for a command that makes ids.
func (f *layoutFlags) resolveToMake() (namedLayout, error) {
	n, err := f.resolve()
	if err == nil && n.decode != nil {
		err = usagef("--layout %s is for taking ids apart; keyworker makes them", n.name)
	}
	return n, err
}

// resolve returns the layout that the flags name: a preset or widths, with --epoch and --tick in
// place of its own.
func (f *layoutFlags) resolve() (n namedLayout, err error) {
	var layout bitsalloc.Layout
	texts := strings.Split(f.Layout, ",")
	for _, p := range presets() {
		if strings.EqualFold(cmp.Or(texts[0], "default"), p.name) {
			n.preset, layout = p, p.layout()
		}
	}
	if n.name == "" {
		layout, err = bitsalloc.ParseLayout(texts[0])
		if err != nil && !strings.Contains(f.Layout, "-") { // a name, and not widths
			names := strings.Join(presetNames(), ", ")
			err = fmt.Errorf("want %s, or widths such as 28-22-13", names)
		}
		if err != nil {
			return n, usagef("--layout %q: %w", f.Layout, err)
		}
	}
	switch {
	case n.decode != nil && (f.Epoch != "" || f.Tick != 0):
		return n, usagef("--layout %s has its own epoch and tick", n.name)
	case f.Tick > 0:
		layout.Tick = f.Tick
	}
	if f.Epoch != "" {
		if layout.Epoch, err = parseInstant("--epoch", f.Epoch); err != nil {
			return n, err
		}
	}
	var later []bitsalloc.Era
	for _, text := range texts[1:] {
		l, err := bitsalloc.ParseLayout(text)
		if err == nil && !strings.Contains(text, "@") {
			err = fmt.Errorf("want the instant at which %q begins, such as "+
				"%[1]s@2030-01-01T00:00:00Z", text)
		}
		if err != nil {
			return n, usagef("--layout %q: %w", f.Layout, err)
		}
		later = append(later, bitsalloc.Era{From: l.Epoch, Layout: l})
	}
	if n.decode != nil && later != nil {
		return n, usagef("--layout %s has no eras", n.name)
	}
	if n.eras, err = bitsalloc.NewEras(layout, later...); err != nil {
		return n, usageError{err}
	}
	n.alloc = n.eras.All()[0]
	return n, nil
}

// parseInstant reads the instant of a flag. It takes no local time: two machines in two zones would
// disagree about it.
func parseInstant(flag, text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms).UTC(), nil
	}
	for _, form := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		t, err := time.Parse(form, text)
		if err == nil && t.IsZero() { // it stands for no instant, such as the default epoch
			return t, usagef("%s is %q, want a later instant", flag, text)
		}
		if err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usagef("%s is %q, want a date such as 2026-01-01, an instant such as "+
		"2026-01-01T00:00:00Z, or unix milliseconds", flag, text)
}

// withFlags adds to an error about layouts the flags that decide on them.
func withFlags(err error) error {
	if !errors.Is(err, assigner.ErrLayoutMismatch) {
		return err
	}
	return fmt.Errorf("%w; use the --layout, --epoch and --tick of the programs that share the "+
		"worker ids, or a --namespace apart, whose ids may equal theirs (uid gen and uid serve "+
		"have different layouts by default)", err)
}
