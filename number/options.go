package number

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/uid/opaque"
)

// Options of New. nil means the defaults.
type Options struct {
	// Zone is the time zone of the periods and of the dates in the text. It is part of what a name
	// keeps from its first use. Default: UTC. time.Local is refused, because another machine's is
	// another one.
	Zone *time.Location

	// Keys encrypt a hidden counter, the first one new numbers; Parse uses all. A format with
	// {version} has the key's version in each number, so that a new key can be put in front. A
	// format without has one key for good. A name keeps a fingerprint of each, and refuses another
	// key of the same version. Default: none, and a format without the word hidden takes none.
	Keys []opaque.Key

	// Clock tells the time. Default: time.Now.
	Clock func() time.Time

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy of o, filled in and checked.
func (o *Options) withDefaults(f *format) (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Zone = cmp.Or(c.Zone, time.UTC)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Keys = slices.Clone(c.Keys)
	switch {
	case c.Zone == time.Local || c.Zone.String() == "" || len(c.Zone.String()) > 64:
		return c, invalid("Zone is %q, want a zone by its name, such as Asia/Shanghai", c.Zone)
	case f.hidden && len(c.Keys) == 0:
		return c, invalid("Keys is empty, and the counter is hidden")
	case !f.hidden && len(c.Keys) > 0:
		return c, invalid("Keys has %d keys, and the counter is not hidden", len(c.Keys))
	case !f.version && len(c.Keys) > 1:
		return c, invalid("Keys has %d keys, want one: the numbers have no {version}", len(c.Keys))
	}
	return c, nil
}

// maxTag is the longest tag that every source can hold.
const maxTag = 50

// checkName checks a name, and that the tags of its periods have room.
func checkName(name string, f *format) error {
	const chars = "abcdefghijklmnopqrstuvwxyz0123456789-"
	if name == "" || len(name) > 24 || strings.Trim(name, chars) != "" {
		return invalid("the name is %.64q, want 1..24 of a-z, 0-9 and -", name)
	}
	longest := len(name) + len("@20261122")
	for _, k := range f.keys {
		longest += 1 + k.max
	}
	if longest > maxTag {
		return invalid("the tags of %q have up to %d characters, name@period@keys, want at "+
			"most %d: a shorter name, or fewer characters of keys", name,
			longest, maxTag)
	}
	return nil
}
