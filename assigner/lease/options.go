package lease

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"
	"unicode"
)

// The default and the bounds of Options.
const (
	defaultWindow = 20 * time.Minute

	minWindow = time.Second
	maxWindow = 366 * 24 * time.Hour
	dayReach  = 24 * time.Hour // the least that Reach is by default
	maxReach  = 2 * maxWindow
	minSkew   = time.Second // a store may tell no more than seconds
	maxOwner  = 191         // characters
	maxLayout = 2048
)

// Options configures an Assigner. nil and zero fields mean the defaults.
type Options struct {
	// First and Last bound the worker ids that claims are made on. They make one universe of ids of
	// several stores, such as one in each region: give each store a range of its own. Default 0,
	// and the highest worker id of the layout.
	First, Last int64

	// Window is how far a claim reaches beyond the clock when it is made, and at least how far when
	// it is extended. A generator goes on for that long while the store is away. The worker id of a
	// process that dies without Release stays reserved for that long. 1 second to 366 days. Default
	// 20 minutes: a generator that extends at half of it rides out an outage of 10 minutes at any
	// time.
	Window time.Duration

	// Reach is how far beyond the store's clock a window may end. A store that tells the time
	// grants no more: where the process's clock is years ahead, its windows grow no faster than
	// time passes, and it gets assigner.ErrBeyondReach. After a store went back, all that it may
	// have forgotten has ended when a reach has passed. The longest Reach of any process that ever
	// claimed counts for all, and the store keeps it. Three Windows to 732 days. Default 24 hours,
	// or three Windows if they are longer, but no more than 732 days. Less than 24 hours needs that
	// no process has a version that refuses it.
	Reach time.Duration

	// Owner describes the process to the operator who reads its slots; cut to 191 characters,
	// control characters become question marks.
	// Default: host, process id and start.
	Owner string

	// MaxSkew is how far the local clock may be from the store's when a worker id is claimed, 1
	// second to 366 days. Further away, Assign fails with ErrSkew and logs it. No window is
	// wrong without it, but ids carry the local clock's time. A store without a clock refuses it.
	// Default 0: the clocks are not compared.
	MaxSkew time.Duration

	// Logger is told of clocks that are refused, of an Owner that does not fit, of slots that
	// cannot be read and, once for each Assign, of the wait for a store that is away. Default:
	// none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy with its zero fields filled in, or says which field is out of range.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Window == 0 {
		c.Window = defaultWindow
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Owner == "" {
		host, _ := os.Hostname() // for the operator only
		c.Owner = fmt.Sprintf("%s pid %d since %s", host, os.Getpid(),
			time.Now().UTC().Format(time.RFC3339))
	}
	least := min(3*c.Window, maxReach)
	if c.Reach == 0 {
		c.Reach = max(dayReach, least)
	}
	switch {
	case c.First < 0:
		return c, fmt.Errorf("lease: First is %d, want 0 or above", c.First)
	case c.Last < 0 || c.Last > 0 && c.Last < c.First:
		return c, fmt.Errorf("lease: Last is %d, want %d, which is First, or above",
			c.Last, c.First)
	case c.Window < minWindow || c.Window > maxWindow:
		return c, fmt.Errorf("lease: Window is %v, want %v to %v", c.Window, minWindow, maxWindow)
	case c.Reach < least || c.Reach > maxReach:
		return c, fmt.Errorf("lease: Reach is %v, want %v, which is three Windows, to %v",
			c.Reach, least, maxReach)
	case c.MaxSkew != 0 && (c.MaxSkew < minSkew || c.MaxSkew > maxWindow):
		return c, fmt.Errorf("lease: MaxSkew is %v, want 0, or %v to %v",
			c.MaxSkew, minSkew, maxWindow)
	}
	return c, nil
}

// owner returns Owner as slots have it: UTF-8 without control characters, which not every store can
// hold, and with a tilde where it was cut. It logs what it changes.
func (o *Options) owner() string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(o.Owner, "?"))
	if r := []rune(text); len(r) > maxOwner {
		text = string(r[:maxOwner-1]) + "~"
	}
	if text != o.Owner {
		o.Logger.Warn("owner does not fit its slot and was changed", "owner", text)
	}
	return text
}
