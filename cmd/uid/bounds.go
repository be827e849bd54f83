package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

type boundsCmd struct {
	layoutFlags `embed:""`
	From        string `required:"" placeholder:"TIME" help:"The first instant, in the forms of --epoch."`
	To          string `required:"" placeholder:"TIME" help:"The instant after the last one, in the forms of --epoch."`
	JSON        bool   `help:"Print one JSON object."`
}

// boundsJSON is what bounds --json prints. Ids are strings because JavaScript cannot hold them.
type boundsJSON struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Lo     string    `json:"lo"`
	Hi     string    `json:"hi"`
	Layout string    `json:"layout"`
}

// Run prints the bounds of the ids that any worker can stamp from --from up to --to, exclusive.
func (c *boundsCmd) Run(p *program) error {
	layout, err := c.resolveToMake()
	if err != nil {
		return err
	}
	from, err := parseInstant("--from", c.From)
	if err != nil {
		return err
	}
	to, err := parseInstant("--to", c.To)
	if err != nil {
		return err
	}
	if !from.Before(to) {
		return usagef("--to is %s, want an instant after --from, %s", to.Format(time.RFC3339Nano),
			from.Format(time.RFC3339Nano))
	}
	lo, hi := layout.eras.Between(from, to)
	if lo > hi {
		return fmt.Errorf("the layout %s has no ids from %s to %s", layout.eras,
			from.Format(time.RFC3339Nano), to.Format(time.RFC3339Nano))
	}
	if c.JSON {
		return json.NewEncoder(p.out).Encode(boundsJSON{from, to, strconv.FormatInt(lo, 10),
			strconv.FormatInt(hi, 10), layout.eras.String()})
	}
	_, err = fmt.Fprintf(p.out, "BETWEEN %d AND %d\n", lo, hi)
	return err
}
