package number_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/opaque"
)

// BenchmarkNext measures a number beside its floor: time.Now, Tag.Next and the same text made by hand,
// with the check character. hidden stands beside opaque.Hide. Repeat whole runs: -count would repeat
// each benchmark in a row.
//
//	go test -c ./number && for i in $(seq 5); do ./number.test -test.run "^$" -test.bench Next; done
func BenchmarkNext(b *testing.B) {
	const plain = "{shop upper 2}-{20060102}-{n 12 day}-{check mod37,36}"
	ctx := b.Context()
	benchmark := func(name, format string, keys ...opaque.Key) {
		gen := generator(b, &segmenttest.Counters{})
		n, err := number.New(ctx, gen, "order", format, &number.Options{Keys: keys})
		if err != nil {
			b.Fatal(err)
		}
		next(b, n, "BJ")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := n.Next(ctx, "BJ"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("floor_by_hand", func(b *testing.B) {
		gen := generator(b, &segmenttest.Counters{})
		n, err := number.New(ctx, gen, "order", plain, nil)
		if err != nil {
			b.Fatal(err)
		}
		parts, err := n.Parse(next(b, n, "BJ"))
		if err != nil {
			b.Fatal(err)
		}
		tag, err := gen.Tag(ctx, parts.Tag)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			now := time.Now().UTC()
			id, err := tag.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			if text := byHand("BJ", now, id); len(text) != 26 {
				b.Fatal(text)
			}
		}
	})
	benchmark("number", plain)
	b.Run("floor_opaque", func(b *testing.B) {
		codec, err := opaque.New("order", secret)
		if err != nil {
			b.Fatal(err)
		}
		id := uid.ID(1)
		b.ReportAllocs()
		for b.Loop() {
			if text := codec.Hide(id).String(); len(text) != 13 {
				b.Fatal(text)
			}
			id++
		}
	})
	benchmark("hidden", strings.Replace(plain, "day", "day hidden", 1), secret)
}

// byHand writes what the format of the benchmark writes, as a program would that has only this one.
func byHand(shop string, now time.Time, id int64) string {
	const chars = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var buf [32]byte
	b := append(buf[:0], shop...)
	b = now.AppendFormat(append(b, '-'), "20060102")
	b = append(b, '-')
	at := len(b) + 12
	b = append(b, "000000000000"...)
	for i := at - 1; id > 0; i-- {
		b[i] = byte('0' + id%10)
		id /= 10
	}
	p := 36
	for _, c := range b {
		v := int(c)
		switch {
		case c == '-':
			continue
		case c >= 'A':
			v -= 'A' - 10
		default:
			v -= '0'
		}
		if p = (p + v) % 36; p == 0 {
			p = 36
		}
		p = p * 2 % 37
	}
	return string(append(b, '-', chars[(37-p)%36]))
}
