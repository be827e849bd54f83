package main

import (
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
