package number

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/uidring/uidring/segment"
)

// The bounds of a format.
const (
	maxFormat = 160 // characters of the format
	maxText   = 64  // characters of a number
	minHidden = 1_000_000
	gapped    = 100 // a fetch takes at most one part in so many of the counter's numbers
)

// kind is what a field of a format holds.
type kind uint8

const (
	literal kind = iota
	key
	date
	counter
	version
	checksum
)

// field is a stretch of a number.
type field struct {
	kind     kind
	text     string // a literal, or a key's name
	chars    *alphabet
	min, max int  // characters; different for a key of variable length only
	part     part // of a date
	at       int  // where the field begins in the format
}

// format is a format that was read and found to give every text exactly one reading. It is
// immutable.
type format struct {
	source  string
	fields  []field
	keys    []field
	counter field
	version bool
	check   check

	period   period
	hidden   bool
	gapless  bool
	capacity int64 // the largest number of the counter
	parts    dates // 0 for those that the format has, else -1
}

// parseFormat reads a format. The error names the place, counted from 1, and the field.
func parseFormat(text string) (*format, error) {
	f := &format{source: text}
	for p := range f.parts {
		f.parts[p] = -1
	}
	if len(text) > maxFormat {
		return nil, invalid("it has %d characters, want at most %d", len(text), maxFormat)
	}
	for at := 0; at < len(text); {
		end := at + 1
		var err error
		if text[at] == '{' {
			closing := strings.IndexByte(text[at:], '}')
			if closing < 0 {
				return nil, wrong(at, text[at:], fmt.Errorf("it has no }"))
			}
			end = at + closing + 1
			err = f.addField(strings.Fields(text[at+1:at+closing]), at)
		} else {
			for end < len(text) && text[end] != '{' {
				end++
			}
			err = f.addLiteral(text[at:end], at)
		}
		if err != nil {
			return nil, wrong(at, text[at:end], err)
		}
		at = end
	}
	return f, f.complete()
}

// wrong returns an error about the field at a place.
func wrong(at int, field string, err error) error {
	return fmt.Errorf("%w: at %d, %.40q: %w", ErrFormat, at+1, field, err)
}

// addLiteral adds text that every number has.
func (f *format) addLiteral(text string, at int) error {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c > '~' || c == '}' {
			return fmt.Errorf("it has %q, want printable ASCII without spaces and braces", c)
		}
	}
	f.fields = append(f.fields,
		field{kind: literal, text: text, min: len(text), max: len(text), at: at})
	return nil
}

// addField adds what stands in braces.
func (f *format) addField(words []string, at int) error {
	if len(words) == 0 {
		return fmt.Errorf("it is empty, want a date, n, check, version or a key")
	}
	switch name := words[0]; {
	case name == "n":
		return f.addCounter(words[1:], at)
	case name == "check":
		if len(words) != 2 {
			return fmt.Errorf("want {check luhn}, damm, mod11,10 or mod37,36")
		}
		var err error
		if f.check, err = checkOf(words[1]); err == nil {
			f.fields = append(f.fields, field{kind: checksum, min: 1, max: 1, at: at})
		}
		return err
	case len(words) == 1 && name == "version":
		if f.version {
			return fmt.Errorf("there are two versions")
		}
		f.version = true
		chars, err := newAlphabet("digits")
		f.fields = append(f.fields, field{kind: version, chars: chars, min: 1, max: 1, at: at})
		return err
	case len(words) == 1:
		return f.addDate(name, at)
	case len(words) == 3:
		return f.addKey(words, at)
	}
	return fmt.Errorf("it has %d words, want a date, or a key with alphabet and length: "+
		"{shop upper 2}", len(words))
}

// addCounter adds {n [alphabet] width [period] [hidden] [gapless]}.
func (f *format) addCounter(words []string, at int) error {
	if f.counter.max > 0 {
		return fmt.Errorf("there are two counters")
	}
	c := field{kind: counter, at: at}
	chars, periods := "digits", 0
	if len(words) > 0 && strings.Trim(words[0], "0123456789") != "" {
		chars, words = words[0], words[1:]
	}
	var err error
	if c.chars, err = newAlphabet(chars); err != nil {
		return err
	}
	if len(words) == 0 {
		return fmt.Errorf("the counter has no width: {n 6}")
	}
	if c.min, c.max, err = width(words[0], false); err != nil {
		return err
	}
	for _, word := range words[1:] {
		p, ok := periodOf(word)
		switch {
		case ok:
			f.period = p
			periods++
		case word == "hidden":
			f.hidden = true
		case word == "gapless":
			f.gapless = true
		default:
			return fmt.Errorf("it has the word %q, want day, week, month, quarter, year or never, "+
				"hidden, gapless", word)
		}
	}
	domain := math.Pow(float64(len(c.chars.chars)), float64(c.max))
	switch {
	case periods != 1:
		return fmt.Errorf("it has %d periods, want one of day, week, month, quarter, year and "+
			"never: {n 6 day}", periods)
	case f.hidden && f.gapless:
		return fmt.Errorf("it is hidden and gapless, want one of them")
	case domain >= 1<<62:
		return fmt.Errorf("its %d characters have more than 2^62 numbers", c.max)
	case f.hidden && domain < minHidden:
		return fmt.Errorf("its %d characters have %.0f numbers, which are guessed, want %d or "+
			"more for hidden ones", c.max, domain, minHidden)
	}
	f.capacity = 1
	for range c.max {
		f.capacity *= int64(len(c.chars.chars))
	}
	f.capacity--
	f.counter, f.fields = c, append(f.fields, c)
	return nil
}

// addKey adds {name alphabet length}.
func (f *format) addKey(words []string, at int) error {
	k := field{kind: key, text: words[0], at: at}
	for i := range len(k.text) {
		if c := k.text[i]; !isAlnum(c) && c != '_' || i == 0 && c <= '9' {
			return fmt.Errorf("the key's name is %q, want letters, digits and _", k.text)
		}
	}
	for _, other := range f.keys {
		if other.text == k.text {
			return fmt.Errorf("there are two keys %q", k.text)
		}
	}
	var err error
	if k.chars, err = newAlphabet(words[1]); err == nil {
		k.min, k.max, err = width(words[2], true)
	}
	f.keys, f.fields = append(f.keys, k), append(f.fields, k)
	return err
}

// width reads a length, or with variable also one such as 1-8.
func width(text string, variable bool) (least, most int, err error) {
	a, b, two := strings.Cut(text, "-")
	if !two || !variable {
		a, b = text, text
	}
	least, err1 := strconv.Atoi(a)
	most, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || least < 1 || most < least || most > maxText {
		return 0, 0, fmt.Errorf("the length is %q, want 1..%d", text, maxText)
	}
	return least, most, nil
}

// addDate adds the parts of a layout, such as 2006-01-02, and what stands between them.
func (f *format) addDate(layout string, at int) error {
	var found []part
	for _, p := range []part{weekOfYear, quarter1} {
		if text, _ := p.layout(); text == layout {
			found, layout = []part{p}, ""
			f.addPart(p, at)
		}
	}
	for rest := layout; rest != ""; {
		if strings.IndexByte("-/.:_", rest[0]) >= 0 && len(found) > 0 {
			f.fields = append(f.fields,
				field{kind: literal, text: rest[:1], min: 1, max: 1, at: at})
			rest = rest[1:]
			continue
		}
		p, after, ok := cutPart(rest)
		if !ok {
			return fmt.Errorf("the field is %q, want week, quarter or parts of a date of fixed "+
				"width: 2006, 06, 01, 02, 002, 15, 04, 05", layout)
		}
		found, rest = append(found, p), after
		f.addPart(p, at)
	}
	return nil
}

// addPart adds a part of a date.
func (f *format) addPart(p part, at int) {
	_, n := p.layout()
	chars, _ := newAlphabet("digits") // it is one
	f.fields = append(f.fields, field{kind: date, part: p, chars: chars, min: n, max: n, at: at})
	f.parts[p] = 0
}

// usedUp returns the error for a counter that has no number of the format left.
func (f *format) usedUp(tag string) error {
	return fmt.Errorf("number: %s: the %d numbers of %d characters are used up: %w",
		tag, f.capacity, f.counter.max, segment.ErrExhausted)
}
