package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// printer prints ids line by line, even in a table. It needs constant memory, and a reader sees
// each line at once. It writes whole lines only.
type printer struct {
	w      *bufio.Writer
	layout namedLayout
	zone   *time.Location
	now    func() time.Time // for the age; nil leaves it out
	format string

	buf    []byte
	widths []int // of the table's columns, once its heading is printed
}

// print prints one id. form is the form that the id was read in, "" if it was made.
func (p *printer) print(parts uid.Parts, form idForm) error {
	switch p.format {
	case "json":
		return p.json(parts, form)
	case "baidu":
		_, err := fmt.Fprintln(p.w, compat.BaiduJSON(p.layout.alloc, int64(parts.ID), p.zone))
		return err
	case "table":
		return p.row(parts, form)
	default:
		p.buf = append(idForm(p.format).write(p.buf[:0], parts.ID), '\n')
		_, err := p.w.Write(p.buf)
		return err
	}
}

// idJSON is one line of --format json. The id is a string because JavaScript cannot hold its
// number.
type idJSON struct {
	ID         string   `json:"id"`
	Base32     string   `json:"base32"`
	Base62     string   `json:"base62"`
	Time       string   `json:"time"`
	AgeSeconds *float64 `json:"age_seconds,omitempty"`
	Tick       int64    `json:"tick"`
	DataCentre *int64   `json:"data_centre,omitempty"`
	Worker     int64    `json:"worker"`
	Seq        int64    `json:"sequence"`
	Gene       *int64   `json:"gene,omitempty"`
	Form       idForm   `json:"form,omitempty"`
}

func (p *printer) json(parts uid.Parts, form idForm) error {
	j := idJSON{
		ID: parts.ID.String(), Base32: uid.Base32.Text(parts.ID), Base62: uid.Base62.Text(parts.ID),
		Form: form,
		Time: parts.Time.In(p.zone).Format(time.RFC3339Nano), Tick: parts.Tick,
		Worker: parts.Worker, Seq: parts.Seq,
	}
	if p.layout.centreBits > 0 {
		dc, worker := p.layout.site(parts.Worker)
		j.DataCentre, j.Worker = &dc, worker
	}
	if p.layout.alloc.Layout().GeneBits > 0 {
		j.Gene = &parts.Gene
	}
	if p.now != nil {
		now, t := p.now(), parts.Time
		age := float64(now.Unix()-t.Unix()) + float64(now.Nanosecond()-t.Nanosecond())/1e9
		j.AgeSeconds = &age
	}
	return json.NewEncoder(p.w).Encode(j)
}

// row prints one row of the table, after the heading if it is the first. The columns are as wide as
// the layout's largest values.
func (p *printer) row(parts uid.Parts, form idForm) error {
	titles, cells := p.cells(parts, form)
	if p.widths == nil {
		_, widest := p.cells(uid.ParseParts(p.layout.alloc, uid.ID(p.layout.alloc.MaxID())), form)
		for i, title := range titles {
			width := max(len(title), len(widest[i]))
			if title == "AGE" {
				width = len("999.9 years ago")
			}
			p.widths = append(p.widths, width)
		}
		if err := p.line(titles); err != nil {
			return err
		}
	}
	return p.line(cells)
}

// line prints cells in the columns, two spaces apart.
func (p *printer) line(cells []string) error {
	last := len(cells) - 1
	for i, cell := range cells[:last] {
		fmt.Fprintf(p.w, "%-*s  ", p.widths[i], cell)
	}
	_, err := fmt.Fprintln(p.w, cells[last])
	return err
}

// cells returns the cells of a row and the titles above them.
func (p *printer) cells(parts uid.Parts, form idForm) (titles, cells []string) {
	add := func(title, cell string) { titles, cells = append(titles, title), append(cells, cell) }
	number := func(title string, n int64) { add(title, strconv.FormatInt(n, 10)) }
	add("ID", parts.ID.String())
	add("BASE32", uid.Base32.Text(parts.ID))
	add("BASE62", uid.Base62.Text(parts.ID))
	add("TIME", p.clock(parts.Time))
	if p.now != nil {
		now := p.now()
		age := human.Between(parts.Time, now)
		if parts.Time.After(now) {
			add("AGE", "in "+age)
		} else {
			add("AGE", age+" ago")
		}
	}
	worker := parts.Worker
	if p.layout.centreBits > 0 {
		var dc int64
		dc, worker = p.layout.site(worker)
		number("DC", dc)
	}
	number("WORKER", worker)
	number("SEQ", parts.Seq)
	if p.layout.alloc.Layout().GeneBits > 0 {
		number("GENE", parts.Gene)
	}
	if form != "" {
		add("FORM", string(form))
	}
	return titles, cells
}

// clock writes t in the zone with as many decimals as the tick has.
func (p *printer) clock(t time.Time) string {
	form := "2006-01-02T15:04:05"
	switch tick := p.layout.alloc.Layout().Tick; {
	case tick%time.Second == 0 && t.Nanosecond() == 0:
	case tick%time.Millisecond == 0 && t.Nanosecond()%int(time.Millisecond) == 0:
		form += ".000"
	default:
		form += ".000000000"
	}
	return t.In(p.zone).Format(form + "Z07:00")
}

// loadZone returns the zone that --zone names.
func loadZone(name string) (*time.Location, error) {
	switch name {
	case "", "local", "Local":
		return time.Local, nil
	case "utc":
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, usagef("--zone is %q, want local, UTC or a name such as Asia/Shanghai", name)
	}
	return zone, nil
}
