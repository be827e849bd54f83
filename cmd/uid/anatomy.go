package main

import (
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/uidring/uidring/uid"
)

// anatomy is how an id that was taken apart is printed, by gen and by parse.
type anatomy struct {
	layout namedLayout
	zone   *time.Location
	now    func() time.Time // for the age; nil leaves it out
}

// anatomyJSON is one line of --format json. The id is a string because JavaScript cannot hold its number.
type anatomyJSON struct {
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

// json writes the id as one line of JSON.
func (a *anatomy) json(w io.Writer, p uid.Parts, form idForm) error {
	j := anatomyJSON{
		ID: p.ID.String(), Base32: p.ID.Base32(), Base62: p.ID.Base62(), Form: form,
		Time: p.Time.In(a.zone).Format(time.RFC3339Nano), Tick: p.Tick, Worker: p.Worker, Seq: p.Seq,
	}
	if a.layout.centreBits > 0 {
		dc, worker := a.layout.sites.Split(p.Worker)
		j.DataCentre, j.Worker = &dc, worker
	}
	if a.layout.alloc.Layout().GeneBits > 0 {
		j.Gene = &p.Gene
	}
	if a.now != nil {
		now := a.now()
		age := float64(now.Unix()-p.Time.Unix()) + float64(now.Nanosecond()-p.Time.Nanosecond())/1e9
		j.AgeSeconds = &age
	}
	return json.NewEncoder(w).Encode(j)
}

// columns returns the columns of the table form; id and text forms first.
func (a *anatomy) columns() []column {
	alloc := a.layout.alloc
	cols := []column{
		{"ID", digits(alloc.MaxID())}, {"BASE32", base32Length}, {"BASE62", base62Length},
		{"TIME", len(a.clock(alloc.TimeAt(0)))},
	}
	if a.now != nil {
		cols = append(cols, column{"AGE", len("999.9 years ago")})
	}
	if a.layout.centreBits > 0 {
		cols = append(cols, column{"DC", 2})
	}
	cols = append(cols, column{"WORKER", digits(alloc.MaxWorker())}, column{"SEQ", digits(alloc.MaxSeq())})
	if alloc.MaxGene() > 0 {
		cols = append(cols, column{"GENE", digits(alloc.MaxGene())})
	}
	return cols
}

// cells returns one row under columns.
func (a *anatomy) cells(p uid.Parts) []string {
	cells := []string{p.ID.String(), p.ID.Base32(), p.ID.Base62(), a.clock(p.Time)}
	if a.now != nil {
		cells = append(cells, age(p.Time, a.now()))
	}
	worker := p.Worker
	if a.layout.centreBits > 0 {
		var dc int64
		dc, worker = a.layout.sites.Split(worker)
		cells = append(cells, strconv.FormatInt(dc, 10))
	}
	cells = append(cells, strconv.FormatInt(worker, 10), strconv.FormatInt(p.Seq, 10))
	if a.layout.alloc.MaxGene() > 0 {
		cells = append(cells, strconv.FormatInt(p.Gene, 10))
	}
	return cells
}

// clock writes t in the zone with as many decimals as the tick has.
func (a *anatomy) clock(t time.Time) string {
	form := "2006-01-02T15:04:05"
	switch tick := a.layout.alloc.Layout().Tick; {
	case tick%time.Second == 0 && t.Nanosecond() == 0:
	case tick%time.Millisecond == 0 && t.Nanosecond()%int(time.Millisecond) == 0:
		form += ".000"
	default:
		form += ".000000000"
	}
	return t.In(a.zone).Format(form + "Z07:00")
}

// age says how long before now t was.
func age(t, now time.Time) string {
	if t.After(now) {
		return "in " + between(now, t)
	}
	return between(t, now) + " ago"
}

func digits(n int64) int { return len(strconv.FormatInt(n, 10)) }

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
