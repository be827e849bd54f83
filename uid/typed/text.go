package typed

import (
	"fmt"
	"math"
	"strings"

	"github.com/uidring/uidring/uid"
)

const (
	digitsLen = 13                        // of Base32
	maxPrefix = 31                        // characters
	textLen   = maxPrefix + 1 + digitsLen // of the longest text
	bad       = "-"                       // what String returns for an id that has no text
	wantName  = "a to z, 0 to 9 and _ inside, a letter first"
)

// cut returns the digits of a text of this prefix, which is compared without regard to case.
func cut(prefix, text string) (string, error) {
	if err := checkPrefix(prefix); err != nil {
		return "", err
	}
	at := len(text) - digitsLen - 1
	switch {
	case at < 0 || at > maxPrefix || text[at] != '_':
		return "", fmt.Errorf("typed: %w: %s is not %q, _ and %d characters",
			uid.ErrBadID, quote(text), prefix, digitsLen)
	case at != len(prefix) || !strings.EqualFold(text[:at], prefix):
		// A letter beyond ASCII that folds to one of the prefix has more bytes.
		return "", fmt.Errorf("typed: %w: %s has the prefix %q, want %q",
			uid.ErrBadID, quote(text), text[:at], prefix)
	}
	return text[at+1:], nil
}

// appendPrefix appends the prefix of an id's text and "_" to b. It refuses a negative id, whose
// text nothing would read back.
func appendPrefix(b []byte, prefix string, id int64) ([]byte, error) {
	if id < 0 {
		return nil, fmt.Errorf("typed: %w: %d is negative, want 0..%d", uid.ErrBadID, id,
			int64(math.MaxInt64))
	}
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	return append(append(b, prefix...), '_'), nil
}

// text returns a text that was appended, or one that no parser accepts.
func text(b []byte, err error) string {
	if err != nil {
		return bad
	}
	return string(b)
}

// lower makes the letters of b lower case.
func lower(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
}

// checkPrefix refuses a prefix that could not be told from the rest of a text, or that would need
// escaping in a URL.
func checkPrefix(prefix string) error {
	ok := 1 <= len(prefix) && len(prefix) <= maxPrefix && prefix[len(prefix)-1] != '_'
	for i := 0; i < len(prefix) && ok; i++ {
		c := prefix[i]
		ok = 'a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '_')
	}
	if !ok {
		return fmt.Errorf("typed: %w: the prefix is %s, want 1..%d characters: %s",
			uid.ErrBadID, quote(prefix), maxPrefix, wantName)
	}
	return nil
}

// quote returns at most the first 32 bytes of a text, escaped: it may be anything.
func quote(text string) string {
	if len(text) > 32 {
		return fmt.Sprintf("%q...", text[:32])
	}
	return fmt.Sprintf("%q", text)
}
