package leafhttp

import (
	"net/http"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// The three states of the service and of a tag.
const (
	up       = "up"       // all is well
	degraded = "degraded" // ids are handed out, and something is wrong that will stop them
	down     = "down"     // no ids
)

// health answers 200 while every generator hands out ids and 503 when one does not.
func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	v := h.view()
	status := http.StatusOK
	if v.State == down {
		status = http.StatusServiceUnavailable
	}
	problems := []string{} // [] rather than null
	for _, t := range v.Tags {
		if t.State != up {
			problems = append(problems, t.Tag+": "+t.State)
		}
	}
	if v.Snowflake != nil && v.Snowflake.State != up {
		problems = append(problems, "snowflake: "+v.Snowflake.State)
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

// snowflakeState judges a generator that reports figures.
func snowflakeState(s uid.Stats) string {
	if s.Err != nil {
		return down
	}
	return up
}

// worse returns the worse of two states.
func worse(a, b string) string {
	for _, s := range []string{down, degraded} {
		if a == s || b == s {
			return s
		}
	}
	return up
}
