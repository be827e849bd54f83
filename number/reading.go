package number

import (
	"fmt"
	"strings"
)

// complete checks a format as a whole: that it has a counter, that the period is in the text, and
// that every text has exactly one reading.
//
// A text is read from left to right. A field of fixed width ends where it must. A key of variable
// length is followed by a literal whose first character is not of the key's alphabet, or by
// nothing, so it ends at the first character that it cannot hold. So each field's place in a text
// is known before its content is looked at, two readings of one text are the same, and since key,
// period, version and counter each stand in the text whole, two numbers that differ in one of them
// have two texts. A date may say a part twice, or a part that others imply: the text is still read
// one way.
func (f *format) complete() error {
	if f.counter.max == 0 {
		return invalid("%q has no counter, want one such as {n 6 day}", f.source)
	}
	longest := 0
	for i, field := range f.fields {
		longest += field.max
		last := i == len(f.fields)-1
		if field.kind == checksum && !last {
			return f.wrong(field, "the check is the last field, over all before it")
		}
		if field.min == field.max || last {
			continue
		}
		next := f.fields[i+1]
		if next.kind != literal || field.chars.folds(next.text[0]) {
			return f.wrong(field, "its length varies, so where it ends is not known: want a "+
				"separator after it that its alphabet does not have, or one length")
		}
	}
	switch {
	case longest > maxText:
		return invalid("its numbers have up to %d characters, want at most %d", longest, maxText)
	case !f.parts.whole(f.period):
		return f.wrong(f.counter, "it begins anew each "+f.period.String()+", and the number does "+
			"not say which, with its year")
	case f.version && !f.hidden:
		return invalid("{version} is that of the key of a hidden counter: {n 8 day hidden}")
	}
	return f.checkable()
}

// checkable refuses characters that the check's method cannot hold.
func (f *format) checkable() error {
	if f.check == noCheck {
		return nil
	}
	held := f.check.chars()
	for _, field := range f.fields {
		text := field.text
		if field.kind != literal && field.chars != nil {
			text = field.chars.chars
		}
		at := strings.IndexFunc(text, func(r rune) bool {
			return isAlnum(byte(r)) && !strings.ContainsRune(held, r)
		})
		if at >= 0 && field.kind != checksum {
			return f.wrong(field, fmt.Sprintf("the check cannot hold %q, only %s", text[at], held))
		}
	}
	return nil
}

// wrong returns an error about a field.
func (f *format) wrong(field field, what string) error {
	rest := f.source[field.at:]
	if rest[0] != '{' {
		rest, _, _ = strings.Cut(rest, "{")
	} else if end := strings.IndexByte(rest, '}'); end >= 0 {
		rest = rest[:end+1]
	}
	return wrong(field.at, rest, fmt.Errorf("%s", what))
}

// unread stands for a part of a date that a text has further to the right.
const unread = -2

// reading is what a text says.
type reading struct {
	keys    []string
	dates   dates
	count   int64 // as it stands in the text: hidden, if the counter is
	version int
}

// read reads a text. It refuses one that the format does not write, and one whose check fails.
func (f *format) read(text string) (r reading, err error) {
	if len(text) > maxText {
		return r, fmt.Errorf("%w: it has %d characters, want at most %d", ErrText, len(text),
			maxText)
	}
	r.dates = f.parts
	for p := range r.dates {
		if r.dates[p] == 0 {
			r.dates[p] = unread
		}
	}
	at := 0
	for _, field := range f.fields {
		n := field.min
		for n < field.max && at+n < len(text) && field.chars.value[text[at+n]] >= 0 {
			n++
		}
		if at+n > len(text) {
			return r, fmt.Errorf("%w: %q ends at %d, want %d more characters", ErrText, text,
				len(text), at+n-len(text))
		}
		s := text[at : at+n]
		if err := field.read(&r, s, f.check, text[:at]); err != nil {
			return r, fmt.Errorf("%w: %q at %d, %q: %w", ErrText, text, at+1, s, err)
		}
		at += n
	}
	if at < len(text) {
		return r, fmt.Errorf("%w: %q has %q after its end", ErrText, text, text[at:])
	}
	return r, nil
}

// read reads the content of a field. before is the text before it.
func (d field) read(r *reading, s string, k check, before string) error {
	switch {
	case d.kind == literal && s != d.text:
		return fmt.Errorf("want %q", d.text)
	case d.kind == checksum:
		if want := k.char([]byte(before)); s[0] != want {
			return fmt.Errorf("the check character does not fit: a character before it is wrong, " +
				"or two changed places")
		}
	case d.chars != nil && !d.chars.has(s):
		return fmt.Errorf("want characters of %s", d.chars.chars)
	}
	switch d.kind {
	case key:
		r.keys = append(r.keys, s)
	case counter:
		r.count = d.chars.number(s)
	case version:
		r.version = int(d.chars.number(s))
	case date:
		n := d.chars.number(s)
		bound := [parts]int64{hour: 23, minute: 59, second: 59}[d.part]
		if bound > 0 && n > bound {
			return fmt.Errorf("want at most %d", bound)
		}
		if twice := r.dates[d.part]; twice != unread && twice != n {
			return fmt.Errorf("it was %d before", twice)
		}
		r.dates[d.part] = n
	}
	return nil
}

// fits checks the keys of a call.
func (f *format) fits(keys []string) error {
	if len(keys) != len(f.keys) {
		return fmt.Errorf("%w: %d keys, want %d: %s", ErrKey, len(keys), len(f.keys),
			strings.Join(f.keyNames(), ", "))
	}
	for i := range f.keys {
		k, text := &f.keys[i], keys[i]
		if len(text) < k.min || len(text) > k.max || !k.chars.has(text) {
			return fmt.Errorf("%w: %s is %.80q, want %d to %d characters of %s", ErrKey, k.text,
				text, k.min, k.max, k.chars.chars)
		}
	}
	return nil
}

// keyNames returns the names of the keys.
func (f *format) keyNames() (names []string) {
	for _, k := range f.keys {
		names = append(names, k.text)
	}
	return names
}
