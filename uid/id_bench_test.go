package uid_test

import (
	"strconv"
	"testing"

	"github.com/uidring/uidring/uid"
)

// BenchmarkIDAppend and BenchmarkIDParse show each text form next to strconv, the floor for base
// 10, and strconv in a base of its own, which is what one would use without the form.
func BenchmarkIDAppend(b *testing.B) {
	id := uid.ID(1234567890123456789)
	buf := make([]byte, 0, 32)
	for _, bc := range []struct {
		name string
		f    func()
	}{
		{"floor/strconv10", func() { buf = strconv.AppendInt(buf[:0], int64(id), 10) }},
		{"floor/strconv32", func() { buf = strconv.AppendInt(buf[:0], int64(id), 32) }},
		{"floor/strconv36", func() { buf = strconv.AppendInt(buf[:0], int64(id), 36) }},
		{"decimal", func() { buf, _ = id.AppendText(buf[:0]) }},
		{"base32", func() { buf = uid.Base32.Append(buf[:0], id) }},
		{"base62", func() { buf = uid.Base62.Append(buf[:0], id) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bc.f()
			}
		})
	}
}

func BenchmarkIDParse(b *testing.B) {
	id := uid.ID(1234567890123456789)
	decimal, base32, base62 := id.String(), uid.Base32.Text(id), uid.Base62.Text(id)
	in32, in36 := strconv.FormatInt(int64(id), 32), strconv.FormatInt(int64(id), 36)
	var sink int64
	var read uid.ID
	for _, bc := range []struct {
		name string
		f    func()
	}{
		{"floor/strconv10", func() { sink, _ = strconv.ParseInt(decimal, 10, 64) }},
		{"floor/strconv32", func() { sink, _ = strconv.ParseInt(in32, 32, 64) }},
		{"floor/strconv36", func() { sink, _ = strconv.ParseInt(in36, 36, 64) }},
		{"decimal", func() { read, _ = uid.ParseID(decimal) }},
		{"base32", func() { read, _ = uid.Base32.Parse(base32) }},
		{"base62", func() { read, _ = uid.Base62.Parse(base62) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bc.f()
			}
		})
	}
	_, _ = sink, read
}
