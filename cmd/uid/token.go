package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// withToken answers 401 to requests without the token, except for /health, so that probes need no
// token. If token is empty, it returns h.
func withToken(h http.Handler, token string) http.Handler {
	if token == "" {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && !hasToken(r, token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want the header Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hasToken reports whether r has the token. Sums have one length, so the time of the comparison
// reveals nothing about the token.
func hasToken(r *http.Request, token string) bool {
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(sent))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// withLocalHost answers 403 to requests whose Host is neither an address nor localhost. A page of
// another origin could otherwise give its own name the address 127.0.0.1, and its requests would
// come from the service's origin in the eyes of a browser.
func withLocalHost(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if net.ParseIP(host) == nil && !strings.EqualFold(host, "localhost") {
			http.Error(w, "without UID_TOKEN the Host has to be an address or localhost",
				http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}
