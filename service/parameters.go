package service

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uidring/uidring/service/internal/wire"
)

// only returns a handler that calls f, except for an address with a parameter other than name or
// with name twice, which refuse answers. A client that misspells count would get one id, and one
// that gives it twice may mean either. If name is empty, there is no parameter.
func only(
	name string, refuse func(http.ResponseWriter, string), f http.HandlerFunc,
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			names := []string{name}
			if name == "" {
				names = nil
			}
			if err := check(r.URL.RawQuery, names...); err != nil {
				refuse(w, err.Error())
				return
			}
		}
		f(w, r)
	}
}

// check returns an error if a query has a parameter other than names, or one more than once.
func check(query string, names ...string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the parameters are not URL-encoded")
	}
	for got, all := range values {
		switch {
		case len(names) == 0:
			return fmt.Errorf("the parameter %.32q is not known, want none", got)
		case !slices.Contains(names, got):
			return fmt.Errorf("the parameter %.32q is not known, want %s", got,
				strings.Join(names, ", "))
		case len(all) > 1:
			return fmt.Errorf("%s is given %d times, want it once", got, len(all))
		}
	}
	return nil
}

// The forms of a refusal with 400: those of Leaf's clients, of programs, and of the decoder.

func inText(w http.ResponseWriter, text string) { http.Error(w, text, http.StatusBadRequest) }

func inFailure(w http.ResponseWriter, text string) {
	refuse(w, http.StatusBadRequest, wire.BadRequest, text)
}

func inErrorMsg(w http.ResponseWriter, text string) {
	writeJSON(w, http.StatusBadRequest, map[string]string{"errorMsg": text})
}
