package segment

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/uidring/uidring/internal/segbound"
)

// Options are the options of New. nil means the defaults, as does a zero field. New copies them; a
// field that is out of range is an error that wraps ErrOptions and names the field, its value and
// the bound.
type Options struct {
	// Prefetch is the percentage of a range that is used when the next one is fetched, 1..99; 10 by
	// default. When the source goes away, at least 100-Prefetch percent of a range are left. The
	// second range of a tag is fetched right after its first.
	Prefetch int

	// MaxStep bounds the adapted step, 1 or more; by default it is 1,000,000, or twice the source's
	// own step for the tag if that is more. It never cuts the source's own step, so with MaxStep 1
	// the step stays as stored.
	MaxStep int64

	// StepWindow is how long a range should last, above 0; 15 minutes by default. After a range
	// that lasted less, the step is doubled. After one that lasted twice as long or longer, it is
	// halved, down to the source's own step.
	StepWindow time.Duration

	// FetchTimeout bounds one call of the source, above 0; 10 s by default.
	FetchTimeout time.Duration

	// RetryMin and RetryMax bound the pause after a failed fetch, above 0; 50 ms and 2 s by
	// default. The pause doubles from RetryMin to RetryMax, and each is shortened by up to half at
	// random. One fetch per tag is under way at a time, however many callers wait.
	RetryMin, RetryMax time.Duration

	// Refresh is the interval at which the Generator calls its method Refresh: 60 s by default; -1
	// for never. It bounds how long a deleted tag is served, a repaired counter stays unused and a
	// changed step is not seen.
	Refresh time.Duration

	// Listed makes New list the source's tags. Their first ranges are fetched in the background, a
	// few at a time, and a call for one that has none yet waits for it. A tag that is not in the
	// list is refused without asking the source. By default a tag is looked up at its first call.
	// The source has to be a Lister.
	Listed bool

	// Checkpoint makes Close give the unused ids back, if the source is a Returner. The source
	// takes them if no later range was fetched. Ids that are not given back are a gap.
	Checkpoint bool

	// Logger gets changes of state: the source fails or is back, a tag is gone. It gets at most one
	// line of each kind a second, with the number of lines that were left out. nil logs nothing.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy of o with every field filled in and checked. o may be nil. MaxStep
// stays 0 for its default, which depends on each tag's own step: see pace.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	// A tenth: the next range is there long before the one in use ends, and an outage finds nine
	// tenths of it left.
	if c.Prefetch == 0 {
		c.Prefetch = 10
	}
	if c.Prefetch < 1 || c.Prefetch > 99 {
		return c, fmt.Errorf("%w: Prefetch is %d, want 1..99", ErrOptions, c.Prefetch)
	}
	if c.MaxStep < 0 || c.MaxStep > segbound.Span {
		return c, fmt.Errorf("%w: MaxStep is %d, want 0..%d", ErrOptions, c.MaxStep, segbound.Span)
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		// Leaf's 15 minutes.
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
		return c, fmt.Errorf("%w: RetryMax is %v, want at least RetryMin, %v",
			ErrOptions, c.RetryMax, c.RetryMin)
	}
	if c.Refresh == 0 {
		c.Refresh = time.Minute
	}
	if c.Refresh < -1 {
		return c, fmt.Errorf("%w: Refresh is %v, want above 0, or -1 for never",
			ErrOptions, c.Refresh)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
