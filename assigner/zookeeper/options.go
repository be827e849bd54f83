package zookeeper

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"
)

// AnySkew as Options.MaxSkew switches the comparison with the other instances' clocks off.
const AnySkew = -1

// Options are the settings of an Assigner. A nil *Options and zero fields mean the defaults.
type Options struct {
	// Root is the node under which everything is kept, an absolute path; /uidring by default.
	// Services whose ids may be equal take a root each. All instances under one root must have one
	// layout.
	Root string

	// First and Last are the worker ids that claims are made in. They make one universe of several
	// ensembles, such as one in each region: give each a range of its own. All instances under one
	// root have the same First; two ranges of one ensemble take a root each. Default 0, and the
	// highest of the layout.
	First, Last int64

	// Instance is the name by which an instance finds its slot again after a restart, at most 255
	// bytes, such as host:port; the host name by default. It may contain anything. Two instances
	// with the same name each get a slot of their own.
	Instance string

	// Window is how far a claim is reserved ahead, and so how long an instance goes on without
	// ZooKeeper; 10 minutes by default, at least 1 second. It is also how long the worker id of a
	// crashed instance stays reserved.
	Window time.Duration

	// SessionTimeout is what the ZooKeeper session asks for, 10 seconds by default, at least 100
	// milliseconds. It bounds how soon a broken connection is noticed and how long a dead
	// instance's clock counts among the peers; no claim depends on it. With a CacheFile it is also
	// how long a start waits for ZooKeeper.
	SessionTimeout time.Duration

	// MaxAhead is how far the point in time that this instance's earlier run had reached may lie
	// beyond the local clock; 1 minute by default. Beyond it Assign refuses with ErrClock: the
	// clock has gone back, or the earlier run borrowed more.
	MaxAhead time.Duration

	// Borrow makes Assign start at the end of the stored window where it would refuse because of
	// MaxAhead. The ids then carry times ahead of the clock until the clock has caught up. Instance
	// must then be unique: a live instance of the same name that runs ahead of its clock by more
	// than MaxAhead would lose its claim.
	Borrow bool

	// MaxSkew is how far the local clock may be from the average of the other live instances'
	// clocks; 10 seconds by default, AnySkew for no bound. Beyond it Assign refuses with ErrClock.
	MaxSkew time.Duration

	// CacheFile lets Assign succeed while ZooKeeper is away, inside the window that the file
	// proves. Empty, the default, means none. Linux only. The file belongs to one Assigner at a
	// time, and its directory must be on a local disk. With it a claim reserves a second Window
	// ahead, which only a start from the file uses, and Release keeps the reservation for it.
	CacheFile string

	// Digest is "user:password" for ZooKeeper's digest authentication. If set, the nodes that are
	// created are accessible to that user only; else to every client that can reach ZooKeeper.
	Digest string

	// Dial connects to a server, for TLS say; a plain TCP dial by default.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger gets rare state changes; nothing is logged by default.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy of o with its zero fields filled in, or an error that names the field
// and the bound.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Root == "" {
		c.Root = "/uidring"
	}
	if c.Instance == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("%w: Instance is empty and the host has no name: %w",
				ErrOptions, err)
		}
		c.Instance = name
	}
	orDefault(&c.Window, 10*time.Minute)
	orDefault(&c.SessionTimeout, 10*time.Second)
	orDefault(&c.MaxAhead, time.Minute)
	orDefault(&c.MaxSkew, 10*time.Second)
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, c.validate()
}

func orDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

const (
	maxInstance = 255
	maxDuration = 366 * 24 * time.Hour // keeps sums of windows and clocks far from overflow
)

func (o *Options) validate() error {
	if !strings.HasPrefix(o.Root, "/") || len(o.Root) < 2 || strings.HasSuffix(o.Root, "/") ||
		strings.Contains(o.Root, "//") {
		return fmt.Errorf("%w: Root is %q, want a path such as /uidring", ErrOptions, o.Root)
	}
	if o.First < 0 {
		return fmt.Errorf("%w: First is %d, want 0 or above", ErrOptions, o.First)
	}
	if o.Last < 0 || o.Last > 0 && o.Last < o.First {
		return fmt.Errorf("%w: Last is %d, want %d, which is First, or above",
			ErrOptions, o.Last, o.First)
	}
	if len(o.Instance) > maxInstance {
		return fmt.Errorf("%w: Instance is %d bytes, want at most %d",
			ErrOptions, len(o.Instance), maxInstance)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
		least time.Duration
	}{
		{"Window", o.Window, time.Second},
		{"SessionTimeout", o.SessionTimeout, 100 * time.Millisecond},
		{"MaxAhead", o.MaxAhead, 0},
		{"MaxSkew", o.MaxSkew, AnySkew},
	} {
		if f.value < f.least || f.value > maxDuration {
			return fmt.Errorf("%w: %s is %v, want %v..%v", ErrOptions, f.name, f.value, f.least,
				maxDuration)
		}
	}
	if o.Digest != "" && !strings.Contains(o.Digest, ":") {
		// the value is a secret
		return fmt.Errorf("%w: Digest has no colon, want user:password", ErrOptions)
	}
	return nil
}

// spare is what a claim reserves beyond its window, for starts from the cache file.
func (o *Options) spare() time.Duration {
	if o.CacheFile == "" {
		return 0
	}
	return o.Window
}
