package number_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/uid/opaque"
	"github.com/uidring/uidring/uid/uidtest"
)

// process is a process on shared counters, with a clock of its own.
type process struct {
	*number.Number
	gen   *segment.Generator
	clock *uidtest.Clock
}

// start starts a process whose clock is at an instant.
func start(tb testing.TB, src segment.Source, format string, at time.Time, o number.Options) process {
	tb.Helper()
	p := process{gen: generator(tb, src), clock: uidtest.NewClock()}
	p.clock.Set(at)
	o.Clock = p.clock.Now
	n, err := number.New(tb.Context(), p.gen, "order", format, &o)
	if err != nil {
		tb.Fatal(err)
	}
	p.Number = n
	return p
}

// log records numbers, each exactly once.
type log struct {
	mu   sync.Mutex
	made map[string]int
}

func (l *log) add(tb testing.TB, texts ...string) {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string]int{}
	}
	for _, text := range texts {
		if l.made[text]++; l.made[text] > 1 {
			tb.Errorf("%q was handed out %d times", text, l.made[text])
		}
	}
}

func zone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		tb.Fatal(err)
	}
	return z
}

// TestTurns: the last number of a period and the first of the next one, at the ends of days, months,
// quarters and years, on 29 February, in ISO weeks 1 and 53, and on days of 23 and 25 hours.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ zone, format, at, last, first string }{
		{"UTC", "{20060102}-{n 3 day}", "2026-11-22T23:59:59Z", "20261122-001", "20261123-001"},
		{"Asia/Shanghai", "{20060102}-{n 3 day}", "2026-11-22T15:59:59Z", "20261122-001", "20261123-001"},
		{"America/New_York", "{20060102}-{n 3 day}", "2026-11-22T04:59:59Z", "20261121-001", "20261122-001"},
		// Clocks go forward at two, and the day ends an hour early.
		{"America/New_York", "{20060102}-{n 3 day}", "2026-03-09T03:59:59Z", "20260308-001", "20260309-001"},
		// They go back, and it ends an hour late.
		{"America/New_York", "{20060102}-{n 3 day}", "2026-11-02T04:59:59Z", "20261101-001", "20261102-001"},
		// Cairo has no midnight on the day its clocks go forward: 23:59:59 is followed by 01:00.
		{"Africa/Cairo", "{2006010215}-{n 3 day}", "2026-04-23T21:59:59Z", "2026042323-001", "2026042401-001"},
		// Santiago has none either, and time.Date says 23:00 of the day before.
		{"America/Santiago", "{20060102}-{n 3 day}", "2026-09-06T03:59:59Z", "20260905-001", "20260906-001"},
		// Lord Howe's clocks move by half an hour.
		{"Australia/Lord_Howe", "{20060102}-{n 3 day}", "2026-10-04T12:59:59Z", "20261004-001", "20261005-001"},
		{"UTC", "{200601}-{n 3 month}", "2026-04-30T23:59:59Z", "202604-001", "202605-001"},
		{"UTC", "{200601}-{n 3 month}", "2028-02-29T23:59:59Z", "202802-001", "202803-001"},
		{"UTC", "{20060102}-{n 3 day}", "2028-02-28T23:59:59Z", "20280228-001", "20280229-001"},
		{"UTC", "{2006002}-{n 3 day}", "2028-02-28T23:59:59Z", "2028059-001", "2028060-001"},
		{"UTC", "{20060102}-{n 3 day}", "2027-02-28T23:59:59Z", "20270228-001", "20270301-001"},
		{"UTC", "{2006}{quarter}-{n 3 quarter}", "2026-06-30T23:59:59Z", "20262-001", "20263-001"},
		{"UTC", "{06}-{n 3 year}", "2026-12-31T23:59:59Z", "26-001", "27-001"},
		{"UTC", "{week}-{n 3 week}", "2026-12-27T23:59:59Z", "202652-001", "202653-001"},
		{"UTC", "{week}-{n 3 week}", "2027-01-03T23:59:59Z", "202653-001", "202701-001"}, // the year began in week 53
		{"UTC", "{week}-{n 3 week}", "2025-12-28T23:59:59Z", "202552-001", "202601-001"}, // before the year does
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		p := start(t, &segmenttest.Counters{}, tt.format, at, number.Options{Zone: zone(t, tt.zone)})
		last := next(t, p.Number)
		p.clock.Set(at.Add(time.Second))
		first := next(t, p.Number)
		if last != tt.last || first != tt.first {
			t.Errorf("%s of %s at %s: %s and %s, want %s and %s", tt.format, tt.zone, tt.at, last, first, tt.last,
				tt.first)
		}
		one, err1 := p.Parse(last)
		two, err2 := p.Parse(first)
		if err := errors.Join(err1, err2); err != nil || one.Count != 1 || two.Count != 1 || one.Start.After(at) ||
			!two.Start.Equal(at.Add(time.Second)) {
			t.Errorf("%s: Parse = %+v and %+v, %v", tt.zone, one, two, err)
		}
	}
	// The day of 23 hours is one period from its first second to its last.
	york := zone(t, "America/New_York")
	p := start(t, &segmenttest.Counters{}, "{20060102}-{n 3 day}", time.Date(2026, 3, 8, 0, 0, 0, 0, york),
		number.Options{Zone: york})
	for h := range 23 {
		if got, want := next(t, p.Number), fmt.Sprintf("20260308-%03d", h+1); got != want {
			t.Errorf("hour %d: %s, want %s", h, got, want)
		}
		p.clock.Step(time.Hour)
	}
	if got := next(t, p.Number); got != "20260309-001" {
		t.Errorf("23 hours later: %s, want the first of the next day", got)
	}
}

// TestTwoClocks: processes whose clocks differ at midnight use two days for a moment, and repeat
// nothing, whichever way a clock goes.
func TestTwoClocks(t *testing.T) {
	t.Parallel()
	src, midnight := &segmenttest.Counters{}, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	var made log
	var all []process
	for i := range 4 {
		at := midnight.Add(time.Duration(i-2) * time.Second)
		all = append(all, start(t, src, "{20060102}-{n 6 day}", at, number.Options{}))
	}
	for i := range 400 {
		for _, p := range all {
			made.add(t, next(t, p.Number))
		}
		step := 300 * time.Millisecond
		if i%7 == 0 {
			step = -2 * time.Second
		}
		all[i%4].clock.Step(step)
	}
	days := map[string]int{}
	for text := range made.made {
		days[text[:8]]++
	}
	if len(days) != 2 || days["20261122"] == 0 {
		t.Errorf("the days are %v, want two", days)
	}
}

// TestSleepOverMidnight: a process that sleeps through several days goes on in the day in which it
// wakes up, and a goroutine that was about to take a number as well.
func TestSleepOverMidnight(t *testing.T) {
	t.Parallel()
	src, at := &segmenttest.Counters{}, time.Date(2026, 11, 22, 23, 59, 0, 0, time.UTC)
	p := start(t, src, "{shop upper 2}{20060102}-{n 6 day}", at, number.Options{})
	awake := start(t, src, "{shop upper 2}{20060102}-{n 6 day}", at, number.Options{})
	var made log
	for range 5 {
		for range 250 {
			made.add(t, next(t, p.Number, "BJ"), next(t, awake.Number, "BJ"), next(t, p.Number, "SH"))
		}
		awake.clock.Step(24 * time.Hour)
		made.add(t, next(t, awake.Number, "BJ"))
		p.clock.Set(awake.clock.Now().Add(time.Minute)) // it wakes up
		if text := next(t, p.Number, "BJ"); !strings.HasPrefix(text, p.clock.Now().UTC().Format("BJ20060102")) {
			t.Errorf("it woke up on %v and made %s", p.clock.Now(), text)
		} else {
			made.add(t, text)
		}
	}
}

// TestForgotten: tags of periods that are over leave the memory, and their counters do not begin anew.
func TestForgotten(t *testing.T) {
	t.Parallel()
	src, at := &segmenttest.Counters{}, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := start(t, src, "{shop upper 2}{20060102}-{n 6 day}", at, number.Options{})
	var made log
	for day := range 10 {
		for i := range 100 {
			made.add(t, next(t, p.Number, fmt.Sprintf("%c%c", 'A'+i/10, 'A'+i%10)))
		}
		if got := len(p.gen.Stats().Tags); got > 200 {
			t.Errorf("day %d: %d tags are in memory, want those of a day and the one before", day, got)
		}
		p.clock.Step(24 * time.Hour)
	}
	next(t, p.Number, "AA")
	p.clock.Step(2 * time.Minute)
	next(t, p.Number, "AA")
	if tags := p.gen.Stats().Tags; len(tags) != 1 || tags[0].Tag != "order@20261202@AA" {
		t.Errorf("%d tags are in memory a minute after midnight, want today's", len(tags))
	}
	p.clock.Set(at) // ten days back, before anything was deleted
	made.add(t, next(t, p.Number, "AA"))
}

// TestForgottenListed: with a list of tags, counters of periods are not in it: those of days that are over do not
// come back into the memory, and no process uses up a range of each.
func TestForgottenListed(t *testing.T) {
	t.Parallel()
	src := &segmenttest.Counters{}
	for _, tag := range []string{"user@1", "order@", "order@x"} {
		if err := src.Set(t.Context(), segment.Row{Tag: tag, Step: 1}); err != nil {
			t.Fatal(err)
		}
	}
	clock := uidtest.NewClock()
	clock.Set(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	for range 2 {
		gen, err := segment.New(t.Context(), src, &segment.Options{Listed: true, Refresh: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer gen.Close()
		n, err := number.New(t.Context(), gen, "order", "{20060102}-{n 6 day}", &number.Options{Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			next(t, n)
			clock.Step(24 * time.Hour)
			if err := gen.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if tags := gen.Stats().Tags; len(tags) != 5 {
			t.Errorf("%d tags are in memory, want three of the list, and those of two days", len(tags))
		}
		for _, tag := range []string{"user@1", "order@", "order@x"} {
			if _, err := gen.Next(t.Context(), tag); err != nil {
				t.Errorf("Next(%q) = %v", tag, err)
			}
		}
	}
}

// TestFloor: after a deletion a process a month behind, a restored VM, begins no deleted day anew, and
// what it holds of one is used up and not fetched again.
func TestFloor(t *testing.T) {
	t.Parallel()
	src, at := &segmenttest.Counters{}, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	const format = "{20060102}-{n 6 day}"
	var made log
	old := start(t, src, format, at.AddDate(0, -1, 0), number.Options{})
	made.add(t, next(t, old.Number))
	p := start(t, src, format, at, number.Options{})
	made.add(t, next(t, p.Number))
	if n, err := src.Clear(t.Context(), "order", 20261101); n != 1 || err != nil {
		t.Fatalf("Clear = %d, %v", n, err)
	}
	for err := error(nil); err == nil; { // two ranges of the deleted day are in its memory
		var text string
		if text, err = old.Next(t.Context()); err == nil {
			made.add(t, text)
		} else if !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next on a deleted day = %v, want ErrUnknownTag", err)
		}
	}
	restored := start(t, src, format, at.AddDate(0, -1, 0), number.Options{})
	if text, err := restored.Next(t.Context()); !errors.Is(err, segment.ErrPastPeriod) ||
		!strings.Contains(err.Error(), "20261022") {
		t.Errorf("Next a month behind = %q, %v, want ErrPastPeriod", text, err)
	}
	restored.clock.Set(at)
	made.add(t, next(t, restored.Number), next(t, p.Number))
	if _, err := src.Clear(t.Context(), "order", 20250101); err != nil {
		t.Error(err)
	}
	restored.clock.Set(at.AddDate(0, -2, 0))
	if _, err := restored.Next(t.Context()); !errors.Is(err, segment.ErrPastPeriod) {
		t.Errorf("Next after a floor that is lower = %v, want ErrPastPeriod", err)
	}
}

// TestManyGoroutines: 64 goroutines take numbers of several shops over three changes of the day, by
// Next and Fill. Each number is handed out once, and each goroutine sees the day change once.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	src := &segmenttest.Counters{}
	p := start(t, src, "{shop upper 1}{20060102}-{n 6 day}", time.Date(2026, 11, 22, 23, 59, 58, 0, time.UTC),
		number.Options{})
	var made log
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range 64 {
		wg.Go(func() {
			for last, turn := "", 0; ; turn++ {
				select {
				case <-stop:
					return
				default:
				}
				shop, some := string(rune('A'+(i+turn)%5)), make([]string, 1+turn%3)
				if _, err := p.Fill(t.Context(), some, shop); err != nil {
					t.Error(err)
					return
				}
				some = append(some, next(t, p.Number, shop))
				made.add(t, some...)
				day := some[len(some)-1][1:9]
				if day < last {
					t.Errorf("after %s came %s", last, day)
				}
				last = day
			}
		})
	}
	for range 3 { // each day has three seconds, and midnight two minutes
		time.Sleep(50 * time.Millisecond)
		p.clock.Step(2 * time.Second)
		time.Sleep(50 * time.Millisecond)
		p.clock.Step(24*time.Hour - 2*time.Second)
	}
	close(stop)
	wg.Wait()
	if len(made.made) < 2000 {
		t.Errorf("%d numbers, want 2000 or more for a meaningful test", len(made.made))
	}
}

// TestUsedUp: the width's last number is handed out, and then ErrExhausted. A fetch takes at most a
// hundredth.
func TestUsedUp(t *testing.T) {
	t.Parallel()
	src := &segmenttest.Counters{}
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	a := start(t, src, "{20060102}{n 3 day}", at, number.Options{})
	b := start(t, src, "{20060102}{n 3 day}", at, number.Options{})
	var made log
	for open := []process{a, b}; len(open) > 0; {
		texts := make([]string, 7)
		n, err := open[0].Fill(t.Context(), texts)
		made.add(t, texts[:n]...)
		switch {
		case errors.Is(err, segment.ErrExhausted):
			if _, err := open[0].Next(t.Context()); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Next after the last number = %v, want ErrExhausted", err)
			}
			open = open[1:]
		case err != nil || n != 7:
			t.Fatal(n, err)
		default:
			slices.Reverse(open)
		}
		if rows, _ := src.List(t.Context()); len(rows) > 0 && rows[0].Step > 9 {
			t.Errorf("a fetch takes %d of 999", rows[0].Step)
		}
	}
	for _, want := range []string{"20261122001", "20261122999"} {
		if made.made[want] != 1 {
			t.Errorf("%s was handed out %d times, want once", want, made.made[want])
		}
	}
	if len(made.made) != 999 {
		t.Errorf("%d numbers, want 999", len(made.made))
	}
	a.clock.Step(24 * time.Hour)
	made.add(t, next(t, a.Number))
}

// TestSteps: later fetches take more, and never more than a hundredth of the width.
func TestSteps(t *testing.T) {
	t.Parallel()
	p := start(t, &segmenttest.Counters{}, "{n 5 never}", time.Now(), number.Options{})
	most := int64(0)
	for range 20000 {
		next(t, p.Number)
		tag := p.gen.Stats().Tags[0]
		most = max(most, tag.Current.Len(), tag.Ready.Len())
	}
	if most != 999 {
		t.Errorf("the longest range had %d numbers of 99999, want 999", most)
	}
}

// TestFirstUse: a name keeps the format, the zone and the keys of its first use.
func TestFirstUse(t *testing.T) {
	t.Parallel()
	src := &segmenttest.Counters{}
	gen := generator(t, src)
	other := opaque.Key{Version: 1, Secret: []byte("another key here")}
	second := opaque.Key{Version: 2, Secret: other.Secret}
	for i, tt := range []struct {
		name, format string
		o            number.Options
		refused      bool
	}{
		{"a", "{20060102}{n 6 day}", number.Options{}, false},
		{"a", "{20060102}{n 6 day}", number.Options{}, false},
		{"a", "{20060102}{n 7 day}", number.Options{}, true},
		{"a", "{20060102}{n 6 day}", number.Options{Zone: zone(t, "Asia/Shanghai")}, true},
		{"b", "{20060102}{n 7 day}", number.Options{}, false},
		{"h", "{n 8 never hidden}", number.Options{Keys: []opaque.Key{secret}}, false},
		{"h", "{n 8 never hidden}", number.Options{Keys: []opaque.Key{other}}, true},
		{"h", "{n 8 never hidden}", number.Options{Keys: []opaque.Key{second}}, true}, // no version tells them apart
		{"v", "{version}{n 8 never hidden}", number.Options{Keys: []opaque.Key{secret}}, false},
		{"v", "{version}{n 8 never hidden}", number.Options{Keys: []opaque.Key{second, secret}}, false},
		{"v", "{version}{n 8 never hidden}", number.Options{Keys: []opaque.Key{second, other}}, true},
	} {
		_, err := number.New(t.Context(), gen, tt.name, tt.format, &tt.o)
		if errors.Is(err, segment.ErrFormat) != tt.refused || err != nil && !tt.refused {
			t.Errorf("%d: New(%s, %s) = %v, want it refused: %v", i, tt.name, tt.format, err, tt.refused)
		}
	}
	two := number.Options{Keys: []opaque.Key{secret, second, {Version: 3, Secret: other.Secret}}}
	for range 9 { // refused for its format, it leaves no fingerprint of its keys
		if _, err := number.New(t.Context(), gen, "b", "{version}{n 8 never hidden}", &two); err == nil {
			t.Error("another format was accepted")
		}
	}
	names, err := src.Names(t.Context())
	for _, n := range names {
		if strings.HasPrefix(n.Name, "b_key") {
			t.Errorf("a process that was refused left %+v", n)
		}
		if err != nil || strings.Contains(n.Format, string(secret.Secret)) {
			t.Errorf("a key is in the row %+v, %v", n, err)
		}
	}
}

// TestHidden: a day's numbers are the numbers of the width in an order that nobody guesses, another
// one each day and shop. Parse gives the count back, and a new key's numbers differ from the old's.
func TestHidden(t *testing.T) {
	t.Parallel()
	src, at := &segmenttest.Counters{}, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	const format = "{shop upper 2}{20060102}-{version}{n 6 day hidden}"
	p := start(t, src, format, at, number.Options{Keys: []opaque.Key{secret}})
	var made log
	order := func(p process, shop string) (tails []string) {
		for i := range 300 {
			text := next(t, p.Number, shop)
			made.add(t, text)
			tails = append(tails, text[len(text)-6:])
			if got, err := p.Parse(text); err != nil || got.Count != int64(i+1) {
				t.Fatalf("Parse(%q) = %+v, %v, want count %d", text, got, err, i+1)
			}
		}
		return tails
	}
	first := order(p, "BJ")
	if slices.IsSorted(first) || first[0] == "000001" {
		t.Errorf("the numbers are %v", first[:5])
	}
	if slices.Equal(first[:3], order(p, "SH")[:3]) {
		t.Error("two shops have one order of numbers")
	}
	p.clock.Step(24 * time.Hour)
	if slices.Equal(first[:3], order(p, "BJ")[:3]) {
		t.Error("two days have one order of numbers")
	}
	// Rotation: numbers of both keys are read, and none is equal.
	second := opaque.Key{Version: 2, Secret: []byte("another key here")}
	q := start(t, src, format, p.clock.Now(), number.Options{Keys: []opaque.Key{second, secret}})
	for range 300 {
		text := next(t, q.Number, "BJ")
		made.add(t, text)
		if _, err := p.Parse(text); !errors.Is(err, number.ErrText) {
			t.Errorf("without the key Parse(%q) = %v, want ErrText", text, err)
		}
		if got, err := q.Parse(next(t, p.Number, "BJ")); err != nil || got.Count < 300 {
			t.Errorf("an old key's number reads as %+v, %v", got, err)
		}
	}
}

// TestOutage: while the source is away, ranges are used up, a new day waits, and ends with the ctx.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &segmenttest.Counters{}
		gen, err := segment.New(t.Context(), src, &segment.Options{Refresh: -1})
		if err != nil {
			t.Fatal(err)
		}
		n, err := number.New(t.Context(), gen, "order", "{20060102}{n 6 day}", nil)
		if err != nil {
			t.Fatal(err)
		}
		var made log
		made.add(t, next(t, n))
		synctest.Wait()
		src.Fail(errors.New("connection refused"))
		for range 100 {
			made.add(t, next(t, n))
		}
		time.Sleep(24 * time.Hour)
		short, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := n.Next(short); !errors.Is(err, context.DeadlineExceeded) && err == nil {
			t.Errorf("Next of a new day without the source = %v", err)
		}
		go func() {
			time.Sleep(time.Minute)
			src.Fail(nil)
		}()
		made.add(t, next(t, n)) // waits until it is back
		if err := gen.Close(); err != nil {
			t.Error(err)
		}
		if _, err := n.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Next after Close = %v, want ErrClosed", err)
		}
	})
}

// TestNoPeriods: a source that cannot keep periods is refused.
func TestNoPeriods(t *testing.T) {
	t.Parallel()
	gen := generator(t, struct{ segment.Source }{&segmenttest.Counters{}})
	if _, err := number.New(t.Context(), gen, "order", "{n 6 never}", nil); !errors.Is(err, segment.ErrOptions) {
		t.Errorf("New = %v, want ErrOptions", err)
	}
}

// TestClockYears: a year that the text cannot hold is refused, and not written as another.
func TestClockYears(t *testing.T) {
	t.Parallel()
	for year, fine := range map[int]bool{1999: false, 2000: true, 2099: true, 2100: false} {
		n, err := numbers(t, "{060102}{n 6 day}", time.Date(year, 5, 5, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := n.Next(t.Context()); (err == nil) != fine {
			t.Errorf("in %d: %q, %v", year, text, err)
		}
	}
}

// TestAllocs: a number allocates its string and nothing else.
func TestAllocs(t *testing.T) {
	for _, format := range []string{
		"{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}", "{shop upper 2}-{20060102}-{n 8 day hidden}",
	} {
		o := number.Options{}
		if strings.Contains(format, "hidden") {
			o.Keys = []opaque.Key{secret}
		}
		p := start(t, &segmenttest.Counters{}, format, time.Now(), o)
		for range 1000 {
			next(t, p.Number, "BJ")
		}
		ctx := t.Context()
		if got := testing.AllocsPerRun(200, func() { _, _ = p.Next(ctx, "BJ") }); got > 1 {
			t.Errorf("%s: %v allocations, want the string", format, got)
		}
	}
}
