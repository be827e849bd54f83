package number

import (
	"fmt"
	"strings"
	"time"
)

// period is how long a counter counts before the next one begins at 1.
type period uint8

const (
	never period = iota
	day
	week
	month
	quarter
	year
)

func (p period) String() string {
	return [...]string{"never", "day", "week", "month", "quarter", "year"}[p]
}

// periodOf returns the period of a name.
func periodOf(name string) (period, bool) {
	for p := never; p <= year; p++ {
		if p.String() == name {
			return p, true
		}
	}
	return 0, false
}

// number returns the number of the period that t is in, as it stands in tags. Numbers rise with
// time.
func (p period) number(t time.Time) int64 {
	switch y, m, d := t.Date(); p {
	case day:
		return int64(y)*10000 + int64(m)*100 + int64(d)
	case week:
		y, w := t.ISOWeek()
		return int64(y)*100 + int64(w)
	case month:
		return int64(y)*100 + int64(m)
	case quarter:
		return int64(y)*10 + int64(m+2)/3
	case year:
		return int64(y)
	}
	return 0
}

// start returns the first day of the period that t is in.
func (p period) start(t time.Time) time.Time {
	y, m, d := t.Date()
	switch p {
	case never:
		return time.Time{}
	case day:
	case week:
		d -= (int(t.Weekday()) + 6) % 7
	case month:
		d = 1
	case quarter:
		m, d = (m-1)/3*3+1, 1
	case year:
		m, d = 1, 1
	}
	return midnight(y, m, d, t.Location())
}

// midnight returns the first moment of a day, or where clocks go back to it, one of its two
// midnights. Where they go forward at midnight there is none, and time.Date may return a moment of
// the day before.
func midnight(y int, m time.Month, d int, zone *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	if t.Day() != time.Date(y, m, d, 12, 0, 0, 0, zone).Day() {
		_, t = t.ZoneBounds()
	}
	return t
}

// part is a part of a date or a time in a number.
type part uint8

const (
	year4 part = iota
	year2
	month2
	day2
	yearDay
	weekOfYear // the ISO year and week together
	quarter1
	hour
	minute
	second
	parts // how many there are
)

// layouts are the parts as a format names them, and their widths.
func (p part) layout() (text string, width int) {
	text = [...]string{"2006", "06", "01", "02", "002", "week", "quarter", "15", "04", "05"}[p]
	switch p {
	case weekOfYear:
		return text, 6
	case quarter1:
		return text, 1
	}
	return text, len(text)
}

// of returns the part of t.
func (p part) of(t time.Time) int64 {
	switch p {
	case year4:
		return int64(t.Year())
	case year2:
		return int64(t.Year() % 100)
	case month2:
		return int64(t.Month())
	case day2:
		return int64(t.Day())
	case yearDay:
		return int64(t.YearDay())
	case weekOfYear:
		return week.number(t)
	case quarter1:
		return quarter.number(t) % 10
	case hour:
		return int64(t.Hour())
	case minute:
		return int64(t.Minute())
	}
	return int64(t.Second())
}

// dates are the parts that a text has, as they were read; -1: none.
type dates [parts]int64

// has reports whether all of some parts are there.
func (d *dates) has(some ...part) bool {
	for _, p := range some {
		if d[p] < 0 {
			return false
		}
	}
	return true
}

// whole reports whether the parts tell which period a number is of.
func (d *dates) whole(p period) bool {
	if d[year4] < 0 && d[year2] < 0 {
		return p == never || p == week && d.has(weekOfYear)
	}
	a, b := d.has(month2), d.has(yearDay)
	switch p {
	case day:
		return b || a && d.has(day2)
	case week:
		return d.has(weekOfYear) || b || a && d.has(day2)
	case month:
		return a || b
	case quarter:
		return a || b || d.has(quarter1)
	}
	return true
}

// day returns a day that has all of the parts, the first if several do. A text without a year
// gets one of a leap year, or else of the year after it.
func (d *dates) day(zone *time.Location) (time.Time, error) {
	y, years, m, first, days := 2000, 2, 1, 1, 366
	switch {
	case d.has(year4):
		y, years = int(d[year4]), 1
	case d.has(year2):
		y, years = 2000+int(d[year2]), 1
	case d.has(weekOfYear): // the fourth of January is in week 1
		y, years = int(d[weekOfYear]/100), 1
		monday := 4 - (int(time.Date(y, 1, 4, 12, 0, 0, 0, time.UTC).Weekday())+6)%7
		first, days = monday+7*(int(d[weekOfYear]%100)-1), 7
	}
	switch {
	case days == 7: // those of the week, which may be of two months and years
	case d.has(month2, day2):
		m, first, days = int(d[month2]), int(d[day2]), 1
	case d.has(yearDay):
		first, days = int(d[yearDay]), 1
	case d.has(month2):
		m, days = int(d[month2]), 31
	}
	for i := range years * days {
		t := midnight(y+i/days, time.Month(m), first+i%days, zone)
		if d.agree(t, year4, quarter1) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: no day has its date", ErrText)
}

// agree reports whether t has the parts from first to last that there are.
func (d *dates) agree(t time.Time, first, last part) bool {
	for p := first; p <= last; p++ {
		if d[p] >= 0 && d[p] != p.of(t) {
			return false
		}
	}
	return true
}

// cutPart returns the part that a layout begins with.
func cutPart(layout string) (p part, rest string, ok bool) {
	// 2006 before 002 and 02, and 002 before 02: the longest first.
	for _, p := range []part{year4, yearDay, year2, month2, day2, hour, minute, second} {
		text, _ := p.layout()
		if rest, ok := strings.CutPrefix(layout, text); ok {
			return p, rest, true
		}
	}
	return 0, layout, false
}
