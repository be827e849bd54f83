package service

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// decode answers with the parts of an id. Names and forms are Leaf's: every value is text, and the
// timestamp is milliseconds since 1970 followed by the date and time in parentheses. A gene, which
// Leaf does not have, is added if the layout has one.
func (h *handler) decode(w http.ResponseWriter, r *http.Request) {
	text := r.FormValue("snowflakeId")
	if n := len(r.Form["snowflakeId"]); n > 1 { // one may be in the body
		inErrorMsg(w, fmt.Sprintf("snowflakeId is given %d times, want it once", n))
		return
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 || id > h.alloc.MaxID() {
		inErrorMsg(w, fmt.Sprintf("snowflakeId is %.40q, want a decimal number from 0 to %d",
			text, h.alloc.MaxID()))
		return
	}
	tick, worker, seq, gene := h.alloc.Split(id)
	t := h.alloc.TimeAt(tick)
	date := t.In(h.Location).Format("2006-01-02 15:04:05.000")
	parts := map[string]string{
		"timestamp":  fmt.Sprintf("%d(%s)", t.UnixMilli(), date),
		"workerId":   strconv.FormatInt(worker, 10),
		"sequenceId": strconv.FormatInt(seq, 10),
	}
	if h.alloc.Layout().GeneBits > 0 {
		parts["gene"] = strconv.FormatInt(gene, 10)
	}
	writeJSON(w, http.StatusOK, parts)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header()["Content-Type"] = jsonText
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the client is gone
}
