package dsn

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Hidden is printed in place of a password.
const Hidden = "*****"

// Redactor hides passwords in what is printed. It learns them from their sources: the command line,
// the environment and the drivers. The zero value knows none. It is safe for concurrent use once
// all are learned.
type Redactor struct {
	hide [][2]string // texts, the longest first, and what replaces each
}

// Learn makes Redact hide what may be a password in text, such as an argument of the command line.
// It uses no driver, so it finds the password of a malformed data source name too.
func (r *Redactor) Learn(text string) {
	// user:password@, from the first colon to the last @, because a password may hold both.
	_, account, isURL := strings.Cut(text, "://")
	if !isURL {
		account = text
	}
	account = account[:max(0, strings.LastIndexByte(account, '@'))]
	// The account of the examples in messages is not a real one and stays readable.
	if _, password, _ := strings.Cut(account, ":"); password != "" && account != "user:password" {
		r.add(":"+password+"@", ":"+Hidden+"@")
		r.Secret(password)
	}
	// password=..., also as the end of a longer key.
	for _, key := range []string{"password", "passwd", "pwd"} {
		for i := range len(text) - len(key) {
			rest := text[i+len(key):]
			value := strings.TrimLeft(rest, " \t\r\n=")
			equals := rest[:len(rest)-len(value)]
			if strings.EqualFold(text[i:i+len(key)], key) && strings.Contains(equals, "=") {
				value = value[:valueEnd(value, isURL)]
				r.add(equals+value, equals+Hidden)
				r.Secret(strings.Trim(value, "'"))
			}
		}
	}
}

// valueEnd returns the length of the value at the start of text. It ends at its closing quote, or
// without quotes at a space or, in a URL, at an ampersand. A backslash escapes each of these.
func valueEnd(text string, isURL bool) int {
	quoted := strings.HasPrefix(text, "'")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case quoted && c == '\'' && i > 0:
			return i + 1
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '&' && isURL):
			return i
		}
	}
	return len(text)
}

// Secret makes Redact hide passwords wherever they stand.
func (r *Redactor) Secret(passwords ...string) {
	for _, p := range passwords {
		// A shorter text is hardly a secret, and is part of many words.
		if len(p) > 2 {
			r.add(p, Hidden)
		}
	}
}

// add makes Redact replace text by instead, in plain and in quoted form.
func (r *Redactor) add(text, instead string) {
	quote := func(s string) string { q := strconv.Quote(s); return q[1 : len(q)-1] }
	r.hide = append(r.hide, [2]string{text, instead}, [2]string{quote(text), quote(instead)})
	longest := func(a, b [2]string) int { return cmp.Compare(len(b[0]), len(a[0])) }
	slices.SortStableFunc(r.hide, longest)
}

// Redact returns s without the passwords.
func (r *Redactor) Redact(s string) string {
	for _, h := range r.hide {
		s = strings.ReplaceAll(s, h[0], h[1])
	}
	return s
}
