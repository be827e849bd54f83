package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// token returns the token that clients have to send, "" if none is set. A variable that is set to
// nothing is an error, like a secret that was not filled in: it must not open the server.
func (p *program) token() (string, error) {
	token, ok := p.lookupenv("UID_TOKEN")
	if !ok {
		return "", nil
	}
	return token, checkToken("UID_TOKEN", token)
}

// checkToken returns an error that does not show the token if clients could not send it.
func checkToken(name, token string) error {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case token == "":
		return usagef("%s is empty, want a token, or leave it out", name)
	case strings.TrimSpace(token) == "":
		return usagef("%s is blank, want a token, or leave it out", name)
	case strings.HasSuffix(token, "\n") || strings.HasSuffix(token, "\r"):
		return usagef("%s ends in a newline, want the token alone: printf adds none", name)
	case strings.ContainsFunc(token, invisible):
		return usagef("%s has a space or a character that is not visible ASCII, want none", name)
	}
	return nil
}

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
