package segment

import (
	"fmt"
	"log/slog"
	"time"
)

// Options are the options of New. nil and zero fields mean the defaults.
type Options struct {
	// Prefetch is how many percent of a range are used when the next one is fetched, 1..99; 10 by
	// default. When the source goes away, at least 100-Prefetch percent of a range are left. The
	// second range of a tag is fetched right after its first.
	Prefetch int

	// MaxStep bounds the dynamic step, 1 or more; the default is 1,000,000, or twice the source's
	// own step for the tag if that is more. The source's own step is always asked for, so MaxStep 1
	// keeps the step as stored.
	MaxStep int64

	// StepWindow is how long a range should last, above 0; 15 minutes by default. A range used up
	// faster is followed by one of double the step, one that lasted twice as long or longer by one
	// of half, down to the source's own step.
	StepWindow time.Duration

	// FetchTimeout bounds one call of the source, above 0; 10 s by default.
	FetchTimeout time.Duration

	// RetryMin and RetryMax bound the pause after a failed fetch, above 0: it doubles from RetryMin
	// (50 ms) to RetryMax (2 s), less up to half of it at random. One fetch per tag is under way at
	// a time, however many callers wait.
	RetryMin, RetryMax time.Duration

	// Refresh is how often the Generator calls its method Refresh: 60 s by default; -1 for never.
	Refresh time.Duration

	// Listed has New list the source's tags and fetch for all of them; a tag that is not in the
	// list is refused without asking the source. By default a tag is found when it is first asked
	// for. The source has to be a Lister.
	Listed bool

	// Checkpoint has Close give the unused ids back to a source that is a Returner, which takes
	// them if nobody has fetched since. Without it they are a gap.
	Checkpoint bool

	// Logger gets the rare changes of state: the source away and back, tags that are gone. Silent
	// by default.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Prefetch == 0 {
		c.Prefetch = 10
	}
	if c.Prefetch < 1 || c.Prefetch > 99 {
		return c, fmt.Errorf("%w: Prefetch is %d, want 1..99", ErrOptions, c.Prefetch)
	}
	if c.MaxStep < 0 || c.MaxStep > MaxSpan {
		return c, fmt.Errorf("%w: MaxStep is %d, want 0..%d", ErrOptions, c.MaxStep, MaxSpan)
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		{"StepWindow", &c.StepWindow, 15 * time.Minute},
		{"FetchTimeout", &c.FetchTimeout, 10 * time.Second},
		{"RetryMin", &c.RetryMin, 50 * time.Millisecond},
		{"RetryMax", &c.RetryMax, max(2*time.Second, c.RetryMin)},
	} {
		if *d.v == 0 {
			*d.v = d.def
		}
		if *d.v < 0 {
			return c, fmt.Errorf("%w: %s is %v, want above 0", ErrOptions, d.name, *d.v)
		}
	}
	if c.RetryMax < c.RetryMin {
		return c, fmt.Errorf("%w: RetryMax is %v, want at least RetryMin, %v", ErrOptions, c.RetryMax, c.RetryMin)
	}
	if c.Refresh == 0 {
		c.Refresh = time.Minute
	}
	if c.Refresh < -1 {
		return c, fmt.Errorf("%w: Refresh is %v, want above 0, or -1 for never", ErrOptions, c.Refresh)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
