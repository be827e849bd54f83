package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// layoutFlags name a layout.
type layoutFlags struct {
	Layout string        `placeholder:"LAYOUT" help:"default, baidu, baidu-sample, twitter, hutool, leaf, shardgene, keyworker, keyworker-original, or the widths of time, worker, sequence and gene such as 41-10-12 or 41-10-10-2, and optionally /TICK and @EPOCH."`
	Epoch  string        `placeholder:"TIME" help:"The instant of tick 0: 2026-01-01, 2026-01-01T00:00:00Z or unix milliseconds. A date without a zone is UTC."`
	Tick   time.Duration `placeholder:"DURATION" help:"Length of a tick, such as 1ms or 1s."`
}

// preset is a layout with a name.
type preset struct {
	name       string
	layout     func() bitsalloc.Layout
	centreBits int // part of the worker field that its system calls the data centre

	// decode takes ids apart that no layout describes; nil for all but those of the original KeyWorker.
	decode func(id int64) uid.Parts
}

func presets() []preset {
	return []preset{
		{name: "default", layout: func() bitsalloc.Layout { return bitsalloc.Layout{} }},
		{name: "baidu", layout: bitsalloc.Baidu},
		{name: "baidu-sample", layout: bitsalloc.BaiduSample},
		{name: "twitter", layout: bitsalloc.Twitter, centreBits: 5},
		{name: "hutool", layout: bitsalloc.Hutool, centreBits: 5},
		{name: "leaf", layout: bitsalloc.Leaf},
		{name: "shardgene", layout: bitsalloc.ShardGene, centreBits: 5},
		{name: "keyworker", layout: bitsalloc.KeyWorker, centreBits: 5},
		{name: "keyworker-original", layout: bitsalloc.KeyWorker, centreBits: 5, decode: decodeKeyWorker},
	}
}

// decodeKeyWorker takes an id of the original apart, whose sign bit belongs to the time. Process and machine stand
// where data centre and worker do elsewhere.
func decodeKeyWorker(id int64) uid.Parts {
	t, process, machine, seq := bitsalloc.DecodeKeyWorker(id)
	return uid.Parts{ID: uid.ID(id), Time: t, Tick: int64(uint64(id) >> 22), Worker: process<<5 | machine, Seq: seq}
}

// namedLayout is what the flags come to.
type namedLayout struct {
	preset
	alloc *bitsalloc.Allocator
	sites bitsalloc.Sites // of centreBits
}

// parts takes id apart, or says that it cannot be one of the layout.
func (n *namedLayout) parts(id uid.ID) (uid.Parts, error) {
	if n.decode != nil {
		return n.decode(int64(id)), nil
	}
	if id < 0 || int64(id) > n.alloc.MaxID() {
		return uid.Parts{}, fmt.Errorf("is outside of the layout %s, whose ids are 0..%d", n.alloc.Layout(), n.alloc.MaxID())
	}
	return uid.ParseParts(n.alloc, id), nil
}

// resolve returns the layout that the flags name: a preset or widths, with --epoch and --tick in place of its own.
func (f *layoutFlags) resolve() (namedLayout, error) {
	n, layout, err := parseLayout(f.Layout)
	if err != nil {
		return n, err
	}
	if f.Epoch != "" {
		if layout.Epoch, err = parseEpoch(f.Epoch); err != nil {
			return n, err
		}
	}
	switch {
	case f.Tick < 0:
		return n, usagef("--tick is %v, want above 0", f.Tick)
	case f.Tick > 0:
		layout.Tick = f.Tick
	}
	if n.decode != nil && (f.Epoch != "" || f.Tick != 0) {
		return n, usagef("--layout %s has its own epoch and tick", n.name)
	}
	if n.alloc, err = bitsalloc.New(layout); err != nil {
		return n, usageError{err}
	}
	if n.sites, err = n.alloc.Layout().Sites(n.centreBits); err != nil {
		return n, usageError{err}
	}
	return n, nil
}

// parseLayout reads the text of --layout. The widths' form takes what bitsalloc.Layout.String prints.
func parseLayout(text string) (namedLayout, bitsalloc.Layout, error) {
	if text == "" {
		text = "default"
	}
	for _, p := range presets() {
		if strings.EqualFold(text, p.name) {
			return namedLayout{preset: p}, p.layout(), nil
		}
	}
	l, err := bitsalloc.ParseLayout(text)
	if err != nil && !strings.Contains(text, "-") {
		// It was meant as a name.
		var names []string
		for _, p := range presets() {
			names = append(names, p.name)
		}
		err = fmt.Errorf("want %s, or widths such as 28-22-13", strings.Join(names, ", "))
	}
	if err != nil {
		return namedLayout{}, l, usagef("--layout %q: %w", text, err)
	}
	return namedLayout{}, l, nil
}

// parseEpoch reads an instant. It takes no local time: two machines in two zones would disagree about it.
func parseEpoch(text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms).UTC(), nil
	}
	for _, form := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usagef("--epoch is %q, want a date such as 2026-01-01, an instant such as 2026-01-01T00:00:00Z, or unix milliseconds", text)
}
