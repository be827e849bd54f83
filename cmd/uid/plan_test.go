package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// plan runs plan --json.
func plan(t *testing.T, args string) planReport {
	t.Helper()
	var r planReport
	out := newBench(t).check(t, exitOK, "", "", append([]string{"plan", "--json"}, strings.Fields(args)...)...).stdout
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPlanGoals: a planned layout reaches every goal and has the expected widths.
func TestPlanGoals(t *testing.T) {
	t.Parallel()
	now := newBench(t).now
	for _, c := range []struct{ args, layout string }{
		// 20.4 years of seconds since the epoch are 30 bits, 1000 workers 10, 5000/s 13; 10 bits to
		// spare: 10 to the worker.
		{"--years 20 --workers 1000 --rate 5000", "30-20-13-0/1s"},
		{"--bits 53 --years 30 --workers 100 --rate 100", "30-16-7-0/1s"},
		{"--years 60 --workers 1024 --rate 4096000 --tick 1ms", "41-10-12-0/1ms"},
		{"--bits 63 --years 7 --gene-bits 4", "28-18-13-4/1s"},
		// Without --rate the sequence gets what is left over first.
		{"--bits 53", "30-10-13-0/1s"},
		{"--bits 53 --workers 100", "30-10-13-0/1s"},
		{"--bits 63 --workers 100", "30-20-13-0/1s"},
		// A rate or restarts alone is a goal. 30 years with a restart an hour: 262,981 worker ids, 19 bits.
		{"--rate 100000", "30-16-17-0/1s"},
		{"--restarts 24", "30-20-13-0/1s"},
		{"--restarts 240", "30-22-11-0/1s"},
		// 10 workers, 1 restart a day, 10 years: 36,535 worker ids, 16 bits.
		{"--bits 53 --years 10 --workers 10 --restarts 1 --rate 100", "29-17-7-0/1s"},
	} {
		r := plan(t, c.args)
		if !strings.HasPrefix(r.Layout, c.layout+"@") {
			t.Errorf("plan %s = %s, want %s", c.args, r.Layout, c.layout)
		}
		years := 30
		if strings.Contains(c.args, "--years") {
			years = 7
		}
		if r.Expires.Before(now.AddDate(years, 0, 0)) || len(r.Rings) == 0 {
			t.Errorf("plan %s expires %v with %d rings, want more years and rings",
				c.args, r.Expires, len(r.Rings))
		}
	}
}

// TestPlanDefault: the default layout has the figures that README and docs state.
func TestPlanDefault(t *testing.T) {
	t.Parallel()
	r := plan(t, "--layout default --rate 16384 --burst 10s")
	if r.Workers != 1<<22 || r.IDsPerTick != 8192 || r.IDsPerSec != 8192 || r.JavaScript ||
		r.MaxID != "9223372036854775807" || !r.Expires.Equal(time.Date(2034, 7, 4, 21, 24, 16, 0, time.UTC)) {
		t.Errorf("default layout: %+v", r)
	}
	if r.Borrow == nil || r.Borrow.PerSec != 1 || r.Borrow.BurstSec != 10 {
		t.Errorf("twice the rate for 10 s borrows %+v, want 1 s a second, 10 s", r.Borrow)
	}
	for _, x := range r.Rings {
		if x.IDs != 8192<<x.BoostPower || x.Bytes != x.Slots*slotBytes || x.Slots*int64(x.RunLength) != x.IDs ||
			x.AtRate != float64(x.IDs)/16384 {
			t.Errorf("BoostPower %d: %+v", x.BoostPower, x)
		}
	}
	// Twice the rate for ever halves the time that is left.
	left := r.Expires.Sub(newBench(t).now)
	r = plan(t, "--layout default --rate 16384")
	if r.Borrow.Expires.Sub(newBench(t).now.Add(left/2)).Abs() > time.Second {
		t.Errorf("at twice the rate the time runs out %v, want half way", r.Borrow.Expires)
	}
}

// TestPlanText: the plan says by how many bits goals do not fit, and that a layout has run out.
func TestPlanText(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitFailure, "", "time 41 + worker 20 + sequence 3 + gene 0 = 64 bits, there are 63",
		"plan", "--years", "60", "--workers", "1000000", "--rate", "8000", "--tick", "1ms")
	b.check(t, exitOK, "it makes no ids any more", "", "plan", "--layout", "baidu")
	b.check(t, exitOK, "a JavaScript number holds them", "", "plan", "--bits", "53")
	b.check(t, exitUsage, "", "lies beyond", "plan", "--years", "1", "--epoch", "2030-01-01")
	b.check(t, exitUsage, "", `--epoch is "0001-01-01", want a later`, "plan", "--epoch", "0001-01-01")
	b.check(t, exitUsage, "", "keyworker makes them", "plan", "--layout", "keyworker-original")
	b.check(t, exitUsage, "", "keyworker makes them", "doctor", "--layout", "keyworker-original")
	b.check(t, exitUsage, "", "there is no --rate", "plan", "--burst", "1s")
}
