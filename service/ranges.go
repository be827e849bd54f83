package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service/internal/wire"
)

// ranges answers with a whole range, which a Client counts through. The range comes
// straight from the source and not from the generator's buffers, so that the ranges of a client
// increase, whichever servers they come from.
func (h *handler) ranges(w http.ResponseWriter, r *http.Request) {
	if h.Segment == nil {
		refuse(w, http.StatusNotFound, wire.NotServed, "number segments are not served here")
		return
	}
	step := int64(0)
	if counts(r) {
		var err error
		if step, err = count(r, segbound.Span); err != nil {
			inFailure(w, err.Error())
			return
		}
	}
	key := r.PathValue("key")
	ctx, cancel := context.WithTimeout(r.Context(), authorityTimeout)
	defer cancel()
	got, err := h.Segment.Fetch(ctx, key, step)
	if r.Context().Err() == nil && !errors.Is(err, segment.ErrUnknownTag) {
		h.troubles.record(fmt.Sprintf("%.128s", key), err, time.Now()) // a stranger's may be long
	}
	if err == nil {
		writeJSON(w, http.StatusOK, wire.FromRange(got))
		return
	}
	switch status := h.report(w, r, key, err); {
	case status == http.StatusNotFound:
		refuse(w, status, wire.UnknownTag, unknownKey(key))
	case errors.Is(err, segment.ErrExhausted):
		refuse(w, status, wire.TagExhausted, noIDs)
	case errors.Is(err, segment.ErrBadRange):
		refuse(w, status, wire.BadRange, noIDs)
	default:
		refuse(w, status, wire.Unavailable, noID)
	}
}

// refuse answers with a reason that programs can read.
func refuse(w http.ResponseWriter, status int, code wire.Code, text string) {
	writeJSON(w, status, wire.Failure{Code: code, Text: text})
}
