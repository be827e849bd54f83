package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hidden stands where a password was.
const hidden = "*****"

// Every place in which a data source name carries a password: after the user name of a URL, in the MySQL driver's
// user:password@protocol(address), in user:password@host/db, which is a mistake for either, and in key=value form. A match
// runs to the last @ that can end it, because a password may itself hold one.
var (
	urlPassword   = regexp.MustCompile(`(://[^:/@\s]*:)\S*(@)`)
	mysqlPassword = regexp.MustCompile(`([^\s:/@"'=]+:).*(@(?:\w+\(|/))`)
	barePassword  = regexp.MustCompile(`([^\s:/@"'=]+:)[^\s/]\S*(@[\w.-]+(?::\d+)?/)`)
	pairPassword  = regexp.MustCompile(`(?i)((?:password|passwd|pwd)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)()`)
)

// sample is the account in the examples that messages give of a data source name, which is nobody's and stays readable.
var sample = regexp.MustCompile(`(^|\s|//)user:password@`)

// sampleMark stands for the sample while passwords are looked for.
const sampleMark = "\x00"

// redact returns s without the passwords of the data source names in it and without the secrets, which are passwords
// known from elsewhere. It is applied to whatever goes to stderr, so that a mistyped flag does not echo its value either.
func redact(s string, secrets ...string) string {
	for _, secret := range secrets {
		// Anything shorter is no secret, and would blot out letters all over the message.
		if len(secret) > 2 {
			quoted := strconv.Quote(secret) // as it stands in a message that quotes it, or in a line of the log
			s = strings.ReplaceAll(s, quoted[1:len(quoted)-1], hidden)
			s = strings.ReplaceAll(s, secret, hidden)
		}
	}
	s = strings.ReplaceAll(s, sampleMark, "")
	s = sample.ReplaceAllString(s, "${1}"+sampleMark)
	for _, re := range []*regexp.Regexp{urlPassword, mysqlPassword, barePassword, pairPassword} {
		s = re.ReplaceAllString(s, "${1}"+hidden+"${2}")
	}
	return strings.ReplaceAll(s, sampleMark, "user:password@")
}

// oneLine joins the lines of a driver's message, so that one failure is one line. PostgreSQL's driver tries an address with
// and without TLS and reports each: what it says twice is said once.
func oneLine(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
