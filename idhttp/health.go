package idhttp

import (
	"fmt"
	"net/http"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// The three states of the service, of a generator and of a tag.
const (
	up       = "up"       // all is well
	degraded = "degraded" // ids are handed out, and something is wrong
	down     = "down"     // no ids
)

// maxProblems bounds the list of what is wrong.
const maxProblems = 20

// health answers 503 when the service is down, so that a load balancer sends requests elsewhere,
// and else 200. What that means is said at view.state.
func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	v := h.view()
	status := http.StatusOK
	problems := []string{} // [] rather than null
	select {
	case <-h.Stopping: // never, if it is nil
		v.State, problems = down, append(problems, "the server is stopping")
	default:
	}
	if v.State == down {
		status = http.StatusServiceUnavailable
	}
	for _, t := range v.Tags { // those with problems are the first ones
		if t.State == up {
			break
		}
		if len(problems) == maxProblems {
			problems = append(problems, fmt.Sprintf("and %d more tags", v.Down+v.Degraded-maxProblems))
			break
		}
		problems = append(problems, t.Tag+": "+t.State)
	}
	if v.Snowflake != nil && v.Snowflake.State != up {
		problems = append(problems, "snowflake: "+v.Snowflake.State+v.Snowflake.until())
	}
	if v.ListErr != nil {
		problems = append(problems, "list of tags: "+degraded)
	}
	writeJSON(w, status, struct {
		Status   string   `json:"status"`
		Tags     int      `json:"tags"`
		Problems []string `json:"problems"`
	}{v.State, len(v.Tags), problems})
}

// until says until when a degraded generator has ids, or what its clock does. The error that
// extending fails with is for the page, which may need a token.
func (v *snowflakeView) until() string {
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

// state judges the service. It is down where sending requests elsewhere helps or does no harm: when
// one of its generators hands out no id at all for a reason of this process's own, such as a
// database that it cannot reach, or when none does for whatever reason. One tag that is used up has
// no ids on any server, and is no reason to take the other tags away; neither is a key that nobody
// has heard of and that somebody asks for while the database is away.
func (v *view) state() string {
	out, kinds, own := 0, 0, false
	if v.Segment {
		kinds++
		if len(v.Tags) > 0 && v.Down == len(v.Tags) {
			out++
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
	case out+v.Down+v.Degraded > 0 || v.ListErr != nil || v.Snowflake != nil && v.Snowflake.State != up:
		return degraded
	default:
		return up
	}
}

// tagState judges a tag by its figures.
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
