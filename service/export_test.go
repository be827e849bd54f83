package service

import (
	"net/http"
	"strings"

	"github.com/uidring/uidring/assigner"
)

// Routes returns the methods that the handler answers to, by path.
func Routes(h http.Handler) map[string][]string {
	own, _ := h.(*handler)
	paths := map[string][]string{}
	for _, r := range own.routes() {
		paths[strings.ReplaceAll(r.pattern, "{$}", "")] = r.methods
	}
	return paths
}

// MaxClaims is the most claims that a handler remembers.
const MaxClaims = maxClaims

// AddClaim makes the handler remember a claim.
func AddClaim(h http.Handler, c assigner.Claim) {
	own, _ := h.(*handler)
	own.claims.add(c)
}

// Claims returns how many claims the handler remembers.
func Claims(h http.Handler) int {
	own, _ := h.(*handler)
	own.claims.mu.Lock()
	defer own.claims.mu.Unlock()
	return len(own.claims.byKey)
}
