package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"gorm.io/gorm"

	"github.com/uidring/uidring/uid"
)

// handler serves the orders of a store.
func handler(s store, logger *slog.Logger) *http.ServeMux {
	mux := http.NewServeMux()
	serve := func(pattern string, f func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := f(r)
			code := status(err)
			if err != nil {
				logger.Warn("request failed", "path", r.URL.Path, "code", code, "error", err)
				http.Error(w, http.StatusText(code), code)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer) // fails only if the client is gone
		})
	}
	serve("POST /users/{user}/orders", func(r *http.Request) (any, error) {
		user, err := userOf(r)
		if err != nil {
			return nil, err
		}
		var orders []Order
		body := http.MaxBytesReader(nil, r.Body, 1<<20)
		if err := json.NewDecoder(body).Decode(&orders); err != nil {
			return nil, errors.Join(uid.ErrBadID, err)
		}
		return orders, s.place(r.Context(), user, orders)
	})
	serve("GET /users/{user}/orders", func(r *http.Request) (any, error) {
		user, err := userOf(r)
		if err != nil {
			return nil, err
		}
		return s.ofUser(r.Context(), user)
	})
	serve("GET /orders/{id}", func(r *http.Request) (any, error) {
		id, err := uid.ParseID(r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		return s.order(r.Context(), id)
	})
	return mux
}

// userOf returns the user whose orders a request is about.
func userOf(r *http.Request) (uid.ID, error) {
	user, err := uid.ParseID(r.PathValue("user"))
	if err == nil && user == 0 { // to the plug-in, a field that is not set
		err = fmt.Errorf("%w: no user has the id 0", uid.ErrBadID)
	}
	return user, err
}

// status returns the HTTP status of an error. A client that gets 503 may try again.
func status(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, uid.ErrBadID):
		return http.StatusBadRequest
	case errors.Is(err, gorm.ErrRecordNotFound):
		return http.StatusNotFound
	case uid.Temporary(err):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
