package leafhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

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
		http.Error(w, fmt.Sprintf("unknown key %q", key), http.StatusNotFound)
		return
	}
	status, text := http.StatusServiceUnavailable, "no id at present"
	for _, permanent := range []error{
		segment.ErrRangeWentBack, segment.ErrExhausted, segment.ErrBadRange,
		uid.ErrExhausted, uid.ErrClaimLost,
	} {
		if errors.Is(err, permanent) {
			status, text = http.StatusInternalServerError, "no id until an operator has looked into it"
		}
	}
	if r.Context().Err() == nil { // else the client has gone, which is no failure of ours
		h.Logger.Error("leafhttp: no id", "path", r.URL.Path, "status", status, "error", err)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, text, status)
}
