package leafhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

func (h *handler) segment(w http.ResponseWriter, r *http.Request) {
	if h.Segment == nil {
		http.Error(w, "number segments are not served here", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	key := r.PathValue("key")
	id, err := h.Segment.Next(ctx, key)
	if err != nil {
		h.fail(w, r, key, err)
		return
	}
	h.write(w, id)
}

func (h *handler) snowflake(w http.ResponseWriter, r *http.Request) {
	if h.Snowflake == nil {
		http.Error(w, "time-ordered ids are not served here", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	id, err := h.Snowflake.Next(ctx)
	if err != nil {
		h.fail(w, r, r.PathValue("key"), err)
		return
	}
	h.write(w, int64(id))
}

// write answers with an id and nothing else, not even a line end: clients parse the whole body.
func (h *handler) write(w http.ResponseWriter, id int64) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, strconv.FormatInt(id, 10)) // fails only if the client is gone, and the id with it
}

// fail answers with what a client may act upon. The details, which name tables and hosts, go to the log.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, key string, err error) {
	if errors.Is(err, segment.ErrUnknownTag) {
		http.Error(w, fmt.Sprintf("unknown key %.128q", key), http.StatusNotFound)
		return
	}
	status, text, g := http.StatusServiceUnavailable, "no id at present", &h.gates[0]
	if permanent(err) {
		status, text, g = http.StatusInternalServerError, "no id until an operator has looked into it", &h.gates[1]
	}
	if r.Context().Err() == nil { // else the client has gone, which is no failure of ours
		if unlogged, ok := g.pass(time.Now()); ok {
			h.Logger.Error("leafhttp: no id", "key", fmt.Sprintf("%.128s", key), "status", status, "error", err, "unlogged", unlogged)
		}
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, text, status)
}

// permanent reports whether the generator stays without ids until somebody has looked into it.
func permanent(err error) bool {
	return errors.Is(err, uid.ErrClaimLost) || everywhere(err)
}

// everywhere reports whether no other server could do better than this one: the reason is in the row or in the layout, which
// they share.
func everywhere(err error) bool {
	for _, e := range []error{segment.ErrRangeWentBack, segment.ErrExhausted, segment.ErrBadRange, uid.ErrExhausted} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
