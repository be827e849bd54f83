package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/uidring/uidring/internal/textonly"
	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
)

// checkNumbers refuses numbers that a request cannot name the keys of.
func checkNumbers(numbers map[string]*number.Number) error {
	for name, n := range numbers {
		switch {
		case n == nil:
			return fmt.Errorf("service: Numbers[%q] is nil, want the numbers of a name", name)
		case slices.Contains(n.Keys(), "count"):
			return fmt.Errorf("service: Numbers[%q] has a key called count, want another name: "+
				"count is how many numbers a request wants", name)
		}
	}
	return nil
}

// number answers with a number as plain text, or with count with a JSON array of them. The other
// parameters are the keys of the name's format.
func (h *handler) number(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	n := h.Numbers[name]
	if n == nil {
		http.Error(w, unknownName(name), http.StatusNotFound)
		return
	}
	keys, wanted := n.Keys(), r.URL.Query()
	values := make([]string, len(keys))
	for i, key := range keys {
		if !wanted.Has(key) {
			inText(w, fmt.Sprintf("the parameter %s is missing, want %s", key,
				strings.Join(keys, ", ")))
			return
		}
		values[i] = wanted.Get(key)
	}
	if r.URL.RawQuery != "" {
		if err := check(r.URL.RawQuery, append(keys, "count")...); err != nil {
			inText(w, err.Error())
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	if !wanted.Has("count") {
		text, err := n.Next(ctx, values...)
		if err != nil {
			h.noNumber(w, r, name, err)
			return
		}
		w.Header()["Content-Type"] = plainText
		_, _ = w.Write([]byte(text)) // fails only if the client is gone; the number is lost then
		return
	}
	count, err := count(r, maxCount)
	if err != nil {
		inText(w, err.Error())
		return
	}
	texts := make([]string, count)
	made, err := n.Fill(ctx, texts, values...)
	if made == 0 {
		h.noNumber(w, r, name, err)
		return
	}
	writeJSON(w, http.StatusOK, texts[:made])
}

// noNumber answers with the reason why there is no number.
func (h *handler) noNumber(w http.ResponseWriter, r *http.Request, name string, err error) {
	switch {
	case errors.Is(err, number.ErrKey):
		inText(w, err.Error())
	case errors.Is(err, segment.ErrUnknownTag): // a counter that was deleted meanwhile
		h.fail(w, r, name, textonly.Error(err))
	default:
		h.fail(w, r, name, err)
	}
}

func unknownName(name string) string { return fmt.Sprintf("unknown name %.128q", name) }
