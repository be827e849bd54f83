package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

func (h *handler) segment(w http.ResponseWriter, r *http.Request) {
	if h.Segment == nil {
		http.Error(w, "number segments are not served here", http.StatusNotFound)
		return
	}
	key := r.PathValue("key")
	ids(h, w, r,
		func(ctx context.Context) (int64, error) { return h.Segment.Next(ctx, key) },
		func(ctx context.Context, all []int64) (int, error) {
			return h.Segment.Fill(ctx, key, all)
		})
}

func (h *handler) snowflake(w http.ResponseWriter, r *http.Request) {
	if h.Snowflake == nil {
		http.Error(w, "time-ordered ids are not served here", http.StatusNotFound)
		return
	}
	ids(h, w, r, h.Snowflake.Next, h.Snowflake.Fill)
}

// counts reports whether the request says how many ids it wants.
func counts(r *http.Request) bool {
	return r.URL.RawQuery != "" && r.URL.Query().Has("count")
}

// ids answers with an id and nothing else, not even a line end: clients parse the whole body. To a
// request that says how many, it answers with a JSON array of them.
func ids[T int64 | uid.ID](h *handler, w http.ResponseWriter, r *http.Request,
	next func(context.Context) (T, error), fill func(context.Context, []T) (int, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	key := r.PathValue("key")
	if counts(r) {
		many(h, w, r, key, func(ids []T) (int, error) { return fill(ctx, ids) })
		return
	}
	id, err := next(ctx)
	if err != nil {
		h.fail(w, r, key, err)
		return
	}
	w.Header()["Content-Type"] = plainText
	var digits [20]byte
	// Write fails only if the client is gone, and then the id is lost.
	_, _ = w.Write(strconv.AppendInt(digits[:0], int64(id), 10))
}

// maxCount is the most ids that one request may ask for.
const maxCount = 1000

// many answers with as many ids as the request asks for. If fill fails halfway, it answers with the
// ids that are there, which would be lost otherwise.
func many[T int64 | uid.ID](
	h *handler, w http.ResponseWriter, r *http.Request, key string, fill func([]T) (int, error),
) {
	count, err := count(r, maxCount)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ids := make([]T, count)
	n, err := fill(ids)
	if n == 0 {
		h.fail(w, r, key, err)
		return
	}
	texts := make([]string, n) // JavaScript cannot read a number above 2^53
	for i, id := range ids[:n] {
		texts[i] = strconv.FormatInt(int64(id), 10)
	}
	writeJSON(w, http.StatusOK, texts)
}

// count returns how many ids the request asks for, 1..most.
func count(r *http.Request, most int64) (int64, error) {
	text := r.URL.Query().Get("count")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("count is %.32q, want 1..%d", text, most)
	}
	return n, nil
}

// fail answers with a status and a text that a client can act upon. The details, which name tables
// and hosts, go to the log.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, key string, err error) {
	switch status := h.report(w, r, key, err); status {
	case http.StatusNotFound:
		http.Error(w, unknownKey(key), status)
	case http.StatusInternalServerError:
		http.Error(w, noIDs, status)
	default:
		http.Error(w, noID, status)
	}
}

const (
	noID  = "no id at present"
	noIDs = "no id until an operator has looked into it"
)

func unknownKey(key string) string { return fmt.Sprintf("unknown key %.128q", key) }

// report returns the status that tells the client what to do about err, and sets Retry-After for
// 503. It logs err, except for an unknown key or a client that has gone: the server has not failed.
func (h *handler) report(w http.ResponseWriter, r *http.Request, key string, err error) int {
	if errors.Is(err, segment.ErrUnknownTag) {
		return http.StatusNotFound
	}
	status, limit := http.StatusServiceUnavailable, &h.limits[0]
	if permanent(err) {
		status, limit = http.StatusInternalServerError, &h.limits[1]
	}
	if r.Context().Err() == nil {
		limit.Logger(h.Logger).Error("service: no id", "key", fmt.Sprintf("%.128s", key),
			"status", status, "error", err)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	return status
}

// permanent reports whether err lasts until an operator has looked into it.
func permanent(err error) bool {
	return errors.Is(err, assigner.ErrClaimLost) || everywhere(err)
}

// everywhere reports whether err is the same on all servers, because its cause is in the row or in
// the layout, which they share.
func everywhere(err error) bool {
	return errors.Is(err, segment.ErrRangeWentBack) || errors.Is(err, segment.ErrExhausted) ||
		errors.Is(err, segment.ErrBadRange) || errors.Is(err, uid.ErrExhausted)
}
