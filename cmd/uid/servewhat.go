package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uidring/uidring/service"
)

// serves says what is served and from where, without secrets.
func (c *serveCmd) serves(
	p *program, source string, layout namedLayout, o *service.HandlerOptions,
) string {
	var parts []string
	if o.Segment != nil {
		parts = append(parts, "tags of "+c.table())
	}
	if len(o.Numbers) > 0 {
		parts = append(parts, "numbers of "+
			strings.Join(slices.Sorted(maps.Keys(o.Numbers)), ", "))
	}
	if g := o.Snowflake; g != nil {
		table := g.Stats().Authority
		if i := strings.LastIndex(table, ", "); i >= 0 {
			table = table[:i] // what follows is the database, which source names
		}
		parts = append(parts, fmt.Sprintf("time-ordered ids of %s, layout %s", table, layout.eras))
	}
	return p.redactor.Redact(source + ": " + strings.Join(parts, "; "))
}

// table returns the table of the tags.
func (f *sourceFlags) table() string {
	switch f.Source {
	case "sequence":
		return "t_sequence"
	case "ticket":
		return "ticket"
	default:
		return "leaf_alloc"
	}
}
