package service

import (
	"net/http"
	"net/url"
	"strings"
)

// crossSite reports whether a page of another origin makes a browser send a request that hands
// something out. Any page that a person visits can send requests to a loopback or private address,
// GET among them, so http.CrossOriginProtection, which lets GET pass, is not enough. Browsers say
// in Sec-Fetch-Site where a request comes from, or in Origin if they are older. Other clients send
// neither.
func crossSite(r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		return false
	}
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 {
		return site[0] != "same-origin" && site[0] != "none" // none: a person typed the address
	}
	origin := r.Header["Origin"]
	if len(origin) == 0 {
		return false
	}
	u, err := url.Parse(origin[0])
	return err != nil || u.Host != r.Host
}
