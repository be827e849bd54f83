package service

import (
	"fmt"
	"net/http"
	"time"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// The three states of the service, of a generator and of a tag.
const (
	up       = "up"       // all is well
	degraded = "degraded" // ids are handed out, but something is wrong
	down     = "down"     // no ids
)

// maxProblems is the most problems that /health lists.
const maxProblems = 20

// health answers 503 when the service is down, so that a load balancer sends requests elsewhere,
// and 200 otherwise. view.state defines down.
//
// To a client that is not trusted it names no tag and no host.
func (h *handler) health(w http.ResponseWriter, r *http.Request) {
	v := h.view()
	status := http.StatusOK
	problems := []string{} // [] rather than null
	select {
	case <-h.Stopping: // never if it is nil
		v.State, problems = down, append(problems, "the server is stopping")
	default:
	}
	if v.State == down {
		status = http.StatusServiceUnavailable
	}
	trusted := h.Trusted == nil || h.Trusted(r)
	if trusted {
		problems = append(problems, v.tagProblems()...)
	} else {
		problems = append(problems, v.tagCounts()...)
	}
	if v.Snowflake != nil && v.Snowflake.State != up {
		problems = append(problems, "snowflake: "+v.Snowflake.State+v.Snowflake.until())
	}
	if v.ListErr != nil {
		line := "list of tags: not read since " + v.Refreshed.UTC().Format(time.RFC3339)
		if v.Refreshed.IsZero() {
			line = "list of tags: never read"
		}
		if trusted {
			line += ": " + h.ErrorText(v.ListErr)
		}
		problems = append(problems, line)
	}
	writeJSON(w, status, struct {
		Status   string   `json:"status"`
		Tags     int      `json:"tags"`
		Problems []string `json:"problems"`
	}{v.State, len(v.Tags), problems})
}

// tagProblems returns a line for each tag with a problem, up to maxProblems, and then how many more
// there are.
func (v *view) tagProblems() []string {
	var lines []string
	for _, t := range v.Tags[:v.Down+v.Degraded] { // those with problems come first
		lines = append(lines, t.Tag+": "+t.State)
	}
	for _, key := range v.Ranges {
		lines = append(lines, "ranges of "+key+": "+down)
	}
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("and %d more tags", more))
	}
	return lines
}

// tagCounts returns a line for each kind of problem that tags have, without their names.
func (v *view) tagCounts() []string {
	var lines []string
	for _, kind := range []struct {
		n     int
		where string
		state string
	}{{v.Down, "", down}, {v.Degraded, "", degraded}, {len(v.Ranges), "ranges of ", down}} {
		if kind.n > 0 {
			lines = append(lines, kind.where+human.Plural(kind.n, "tag")+": "+kind.state)
		}
	}
	return lines
}

// until returns, for a degraded generator, when its ids end or what is wrong with its clock. The
// error of an extension is shown on the page only, because /health may need no token.
func (v *generatorView) until() string {
	switch h := v.Health(); {
	case h.Status != uid.Degraded:
		return ""
	case v.ExtendErr == nil:
		return ", " + h.Reason
	case h.Until.IsZero():
		return ""
	default:
		return ", ids until " + h.Until.UTC().Format(time.RFC3339)
	}
}

// state returns the state of the service. It is down where sending requests elsewhere helps or does
// no harm: when one of its generators hands out no id for a reason of this process alone, such as a
// database that it cannot reach, or when no generator hands out any id, for any reason.
//
// One exhausted tag does not make it down, because that tag has no ids on any server. Neither does
// an unknown key that is asked for while the database is away. Ranges that cannot be fetched make
// it down only if no tag has ids left, because other clients still get ids of those, and only if
// another server may have them.
func (v *view) state() string {
	out, kinds, own := 0, 0, false
	if v.Segment {
		kinds++
		away := v.RangeErr != nil && !everywhere(v.RangeErr)
		if v.Down == len(v.Tags) && (v.Down > 0 || away) {
			out++
			own = away
			for _, t := range v.Tags {
				own = own || !everywhere(t.Err)
			}
		}
	}
	if v.Snowflake != nil {
		kinds++
		if v.Snowflake.State == down {
			out++
			own = own || !everywhere(v.Snowflake.Err)
		}
	}
	switch {
	case own || kinds > 0 && out == kinds:
		return down
	case out+v.Down+v.Degraded+len(v.Ranges) > 0 || v.ListErr != nil ||
		v.Snowflake != nil && v.Snowflake.State != up:
		return degraded
	default:
		return up
	}
}

// tagState returns the state of a tag.
func tagState(s segment.TagStats) string {
	switch {
	case s.Err != nil && s.Left == 0:
		return down
	case s.Err != nil:
		return degraded
	default:
		return up
	}
}
