package main

import (
	"regexp"
	"strings"
)

// hidden stands where a password was.
const hidden = "*****"

// Every place in which a data source name carries a password: after the user name of a URL, in the MySQL driver's
// user:password@protocol(address), and in key=value form. A match runs to the last @ that can end it, because a password
// may itself hold one.
var (
	urlPassword   = regexp.MustCompile(`(://[^:/@\s]*:)\S*(@)`)
	mysqlPassword = regexp.MustCompile(`([^\s:/@"'=]+:).*(@(?:\w+\(|/))`)
	pairPassword  = regexp.MustCompile(`(?i)((?:password|passwd|pwd)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)()`)
)

// redact returns s without the passwords of the data source names in it and without the secrets, which are passwords
// known from elsewhere. It is applied to whatever goes to stderr, so that a mistyped flag does not echo its value either.
func redact(s string, secrets ...string) string {
	for _, secret := range secrets {
		// Anything shorter is no secret, and would blot out letters all over the message.
		if len(secret) > 2 {
			s = strings.ReplaceAll(s, secret, hidden)
		}
	}
	for _, re := range []*regexp.Regexp{urlPassword, mysqlPassword, pairPassword} {
		s = re.ReplaceAllString(s, "${1}"+hidden+"${2}")
	}
	return s
}

// oneLine joins the lines of a driver's message, so that one failure is one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}
