package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uidring/uidring/uid"
)

// idForm is a text form of an id.
type idForm string

const (
	decimalForm idForm = "dec"
	base32Form  idForm = "base32"
	base62Form  idForm = "base62"
	autoForm    idForm = "auto"
)

// Lengths that tell the forms apart.
const (
	base32Length = 13
	base62Length = 11
)

// write appends id in the form to buf.
func (f idForm) write(buf []byte, id uid.ID) []byte {
	switch f {
	case base32Form:
		return uid.Base32.Append(buf, id)
	case base62Form:
		return uid.Base62.Append(buf, id)
	default:
		return strconv.AppendInt(buf, int64(id), 10)
	}
}

// detectForm returns the form of text. Digits alone are a decimal number, unless they begin with a
// zero, which a decimal number never does, and have the length of another form. With letters the
// length decides. also is another form that the text may be in: one Base32 form in a million has
// digits only.
func detectForm(text string) (form, also idForm) {
	byLength := map[int]idForm{base32Length: base32Form, base62Length: base62Form}[len(text)]
	padded := strings.HasPrefix(text, "0") && text != "0"
	switch {
	case strings.Trim(text, "0123456789") == "" && !padded:
		return decimalForm, byLength
	case byLength != "":
		return byLength, ""
	}
	return decimalForm, ""
}

// parseID reads text in the form want, where autoForm is the form that detectForm returns. The id
// may be negative only if signed is true: no id of this library is.
func parseID(text string, want idForm, signed bool) (id uid.ID, form, also idForm, err error) {
	if signed && strings.HasPrefix(text, "-") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, decimalForm, "", fmt.Errorf("bad id: %q is not a 64-bit number", clip(text))
		}
		return uid.ID(n), decimalForm, "", nil
	}
	form = want
	if plain := ungroup(text); plain != text && (want == autoForm || want == decimalForm) {
		text, want, form = plain, decimalForm, decimalForm
	}
	if want == autoForm {
		form, also = detectForm(text)
	}
	switch form {
	case base32Form:
		id, err = uid.Base32.Parse(text)
	case base62Form:
		id, err = uid.Base62.Parse(text)
	default:
		id, err = uid.ParseID(text)
		if err != nil && want == autoForm && strings.Trim(text, "0123456789") != "" {
			err = fmt.Errorf("bad id: %q is not a decimal number, 13 characters of Base32 or "+
				"11 characters of Base62", clip(text))
		}
	}
	if err != nil {
		return 0, form, "", err
	}
	return id, form, also, nil
}

// ungroup returns text without the separators, if text is a number with a separator at every third
// digit, and text as it is otherwise.
func ungroup(text string) string {
	for _, separator := range []string{",", "_", "'", "’"} {
		groups := strings.Split(text, separator)
		isGroup := func(g string) bool { return len(g) == 3 && strings.Trim(g, "0123456789") == "" }
		first := "000"[min(3, len(groups[0])):] + groups[0]
		if len(groups) > 1 && groups[0] != "" && isGroup(first) &&
			!slices.ContainsFunc(groups[1:], func(g string) bool { return !isGroup(g) }) {
			return strings.Join(groups, "")
		}
	}
	return text
}

// clip shortens a text that is quoted in a message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
