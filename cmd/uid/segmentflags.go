package main

import (
	"time"

	"github.com/uidring/uidring/segment"
)

// segmentFlags are the options of a server's segment.Generator.
type segmentFlags struct {
	Listed  bool          `help:"Fetch for every tag of the table at the start, and answer 404 for any other key without asking the table."`
	MaxStep int64         `placeholder:"N" help:"The most that a step grows to. 1 keeps each tag's own. Default: 1000000, or twice the tag's own step."`
	Wait    time.Duration `default:"1s" help:"How long a call waits for an id when there is none."`
}

// check returns an error for a flag that is out of range.
func (f *segmentFlags) check() error {
	switch {
	case f.MaxStep < 0 || f.MaxStep > segment.MaxSpan:
		return usagef("--max-step is %d, want 1..%d", f.MaxStep, segment.MaxSpan)
	case f.Wait <= 0:
		return usagef("--wait is %v, want above 0", f.Wait)
	}
	return nil
}
