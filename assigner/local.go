package assigner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The defaults and bounds of LocalOptions. Lead's comment names those in ticks.
const (
	defaultLead     = 3 * time.Second
	defaultFileLead = 10 * time.Second
	minLead         = 100 * time.Millisecond
	maxStep         = time.Second
	maxTick         = time.Duration(1 << 60) // keeps a few ticks within a Duration
)

// LocalOptions configures Env and StatefulSet. They have no authority that remembers what an
// earlier run with the same worker id has stamped. So a window ends at most Lead ahead of the
// clock, and begins Lead ahead of the clock at Assign: each run begins after the end of the run
// before. Nil and zero fields mean the defaults.
type LocalOptions struct {
	// Lead bounds how far ids are stamped ahead of the clock. A longer lead lets a burst borrow
	// more time, and the ids of a new generator are up to Lead ahead of the clock until it has
	// caught up. At least 100 ms and two ticks of the layout. Default: the longer of 3 s and
	// three ticks. A run with a shorter lead than the run before must not start until the
	// difference has passed, because that run may have stamped so far ahead.
	//
	// With File it is how far a new window reaches ahead, and bounds no burst. Default then: the
	// longer of 10 s and three ticks.
	Lead time.Duration

	// File, when not empty, is the path of a file that remembers the end of the window, so that
	// neither a clock that goes back nor a restart without delay repeats an id. It has to be on a
	// volume that outlives the process and that one machine at a time mounts. The file's folder
	// must exist; a .lock and a .tmp file are made next to it. Symbolic links are followed first,
	// so that each path of a file leads to one lock. A file with a second name, a hard link, is an
	// error. A claim locks the file: a second one is an error that wraps ErrWorkersExhausted. Every
	// extension waits for the disk, whatever its ctx says. A file that is missing counts as a first
	// start; never restore it from a backup or a copy. A file that lies ahead of the clock, because
	// a clock was wrong once, stays ahead: ids carry its time. Unix-like systems only.
	File string

	// RepeatsAfterRestart turns the protection off: the window begins at Assign and has no end. A
	// run that starts again repeats the ids that the one before has stamped ahead of the clock, as
	// every burst does. It cannot be set together with Lead or File.
	RepeatsAfterRestart bool

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy with its zero fields filled in, or says which field is out of range.
func (o *LocalOptions) withDefaults(tick time.Duration) (LocalOptions, error) {
	var c LocalOptions
	if o != nil {
		c = *o
	}
	least := max(minLead, 2*tick)
	switch {
	case c.RepeatsAfterRestart && c.Lead != 0:
		return c, fmt.Errorf("option Lead is %v, want 0 with RepeatsAfterRestart", c.Lead)
	case c.RepeatsAfterRestart && c.File != "":
		return c, fmt.Errorf("option File is %q, want none with RepeatsAfterRestart", c.File)
	case c.Lead == 0 && c.File != "":
		c.Lead = max(defaultFileLead, 3*tick)
	case c.Lead == 0:
		c.Lead = max(defaultLead, 3*tick)
	case c.Lead < least:
		return c, fmt.Errorf("option Lead is %v, want at least %v, two ticks of the layout",
			c.Lead, least)
	}
	return c, nil
}

// local is an Assigner whose worker id the deployment gives to the process.
type local struct {
	name    string // in errors
	worker  func(maxWorker int64) (int64, error)
	options *LocalOptions
	forever bool // the window is all of time, whatever the options say
	layout  string
	open    *holders
	now     func() time.Time
}

// newLocal returns a local that keeps a copy of o, so that the caller may change it afterwards. It
// checks nothing: the options are checked when the layout's tick is known, at each Assign.
func newLocal(name string, worker func(maxWorker int64) (int64, error), o *LocalOptions) local {
	if o != nil {
		copied := *o
		o = &copied
	}
	return local{name: name, worker: worker, options: o, open: &opened, now: time.Now}
}

// BindLayout returns an Assigner for ids of one layout, whose tick the defaults follow.
func (a local) BindLayout(layout string) Assigner {
	a.layout = layout
	return a
}

// Assign reads the worker id and makes the claim that the options ask for. Errors begin with the
// name of the Assigner.
func (a local) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	claim, err := a.assign(ctx, maxWorker)
	if errors.Is(err, ErrWorkersExhausted) || errors.Is(err, ErrLayoutMismatch) {
		return nil, err // they begin with this package's name
	}
	if err != nil {
		return nil, fmt.Errorf("assigner: %s: %w", a.name, err)
	}
	return claim, nil
}

// assign is Assign without the prefix. The worker id is held by this process before a claim is made
// on it, so that two generators that start at once do not both get it; an error lets it go again.
func (a local) assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tick := tickOf(a.layout)
	o, err := a.options.withDefaults(tick)
	if err != nil {
		return nil, err
	}
	worker, err := a.worker(maxWorker)
	if err != nil {
		return nil, err
	}
	release, err := a.open.hold(a.layout, worker)
	if err != nil {
		return nil, err
	}
	var claim Claim
	switch {
	case a.forever:
		claim = openClaim{worker: worker, release: release}
	case o.RepeatsAfterRestart:
		// Round drops the monotonic reading: a window is a stretch of wall time.
		claim = openClaim{worker: worker, from: a.now().UTC().Round(0), release: release}
	case o.File != "":
		claim, err = newFileClaim(o, a, worker, release)
	default:
		step := max(tick, min(o.Lead/3, maxStep))
		claim, err = newLeadClaim(ctx, o.Lead, step, a.now, worker, release)
	}
	if err != nil {
		release()
		return nil, err
	}
	return claim, nil
}

// tickOf returns the longest tick of the layouts in a canonical text, such as
// "28-22-13-0/1s@2026-01-01T00:00:00Z", or the default layout's if the text has none.
func tickOf(layout string) (tick time.Duration) {
	for text := range strings.SplitSeq(layout, ",") {
		_, text, _ = strings.Cut(text, "/")
		if end := strings.IndexAny(text, "+@"); end >= 0 {
			text = text[:end]
		}
		if d, err := time.ParseDuration(text); err == nil {
			tick = max(tick, d)
		}
	}
	if tick == 0 {
		return time.Second
	}
	return min(tick, maxTick)
}
