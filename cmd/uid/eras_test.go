package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// TestPlanAbove: the layout begins just above the id, and the plan says what that costs.
func TestPlanAbove(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := plan(t, "--above 1234567890123456789")
	l, err := bitsalloc.ParseLayout(r.Layout)
	if err != nil {
		t.Fatal(err)
	}
	a, err := bitsalloc.New(l)
	if err != nil {
		t.Fatal(err)
	}
	const above = int64(1234567890123456789)
	if first := a.First(b.now); first <= above || first > above+1<<35 || !l.Epoch.Equal(b.now) {
		t.Errorf("%s begins at %d, want just above %d", r.Layout, first, above)
	}
	if !strings.Contains(r.Given, "13.4 %") || !r.Expires.Equal(a.Expires()) || r.Expires.Year() != 2033 {
		t.Errorf("given up: %s; ends at %v", r.Given, r.Expires)
	}
	b.check(t, exitOK, "given up", "", "plan", "--above", "1", "--from", "2026-07-01")
	for above, goal := range map[string]string{
		"9000000000000000000": "--workers 9",
		"8900000000000000":    "--bits 53 --years 30",
		"1":                   "--years 17",
		"6000000000000000000": "--years 17.01 --from 2027-01-01",
	} {
		r := plan(t, "--above "+above+" "+goal)
		years := r.Expires.Sub(b.now).Hours() / 24 / 365
		if years < 6.9 || strings.Contains(goal, "30") && years < 29.9 || strings.Contains(goal, "17") && years < 16.9 {
			t.Errorf("plan %s above %s = %s, which ends in %.1f years", goal, above, r.Layout, years)
		}
	}
	b.check(t, exitFailure, "", "ids of 53 bits end at 9007199254740991",
		"plan", "--above", "9007199254740991", "--bits", "53")
	b.check(t, exitFailure, "", "15 bits are missing", "plan", "--above", "9123456789012345678", "--layout", "28-10-10")
	for want, args := range map[string]string{
		"--from is for --above": "--from 2026-07-01",
		"--above is -1":         "--above -1",
		"leave --epoch out":     "--above 1 --epoch 2026-01-01",
		"--from is":             "--above 1 --from nonsense",
		"uid eras":              "--layout 28-22-13,36-14-13@2030-01-01T00:00:00Z",
	} {
		b.check(t, exitUsage, "", want, append([]string{"plan"}, strings.Fields(args)...)...)
	}
}

// TestBounds: the bounds are those of the library, even if an era begins between them.
func TestBounds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "BETWEEN 961852771978444800 AND 964821453373439999\n", "",
		"bounds", "--from", "2026-11-21", "--to", "2026-11-22")
	r := b.check(t, exitOK, "", "", "bounds", "--json",
		"--from", "2029-12-31T23:00:00Z", "--to", "2030-01-01T01:00:00Z",
		"--layout", "28-22-13,36-14-13@2030-01-01T00:00:00Z")
	var j boundsJSON
	if err := json.Unmarshal([]byte(r.stdout), &j); err != nil {
		t.Fatal(err)
	}
	for text, at := range map[string]time.Time{j.Lo: j.From, j.Hi: j.To.Add(-time.Second)} {
		r := b.check(t, exitOK, `"time":"`+at.Format(time.RFC3339)+`"`, "",
			"parse", "-f", "json", "--zone", "UTC", "--layout", j.Layout, text)
		if id, err := strconv.ParseInt(text, 10, 64); err != nil || id < 0 {
			t.Errorf("bound %s: %v, %s", text, err, r.stdout)
		}
	}
	b.check(t, exitUsage, "", "--to is", "bounds", "--from", "2026-11-22", "--to", "2026-11-22")
	b.check(t, exitFailure, "", "has no ids", "bounds", "--from", "2020-11-22", "--to", "2021-11-22")
	b.check(t, exitUsage, "", "--from", "bounds", "--to", "2026-11-22")
}

// TestEras plans and shows lists of eras, and makes and parses ids with them.
func TestEras(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const list = "28-22-13-0/1s@2026-01-01T00:00:00Z,36-14-13-0/1s+32314982400@2030-01-01T00:00:00Z"
	for _, args := range []string{"", "--next 36-14-13 --from 2030-01-01"} {
		r := b.check(t, exitOK, "28-22-13 ends in 8.1 years: continue as 36-14-13 from 2030-01-01 on, 1.15k years",
			"", append([]string{"eras"}, strings.Fields(args)...)...)
		if !strings.HasSuffix(r.stdout, "\n--layout "+list+"\n") {
			t.Errorf("eras %s: %s", args, r.stdout)
		}
	}
	r := b.check(t, exitOK, "", "", "eras", "--json", "--layout", "default,36-14-13@2030-01-01T00:00:00Z")
	var j erasJSON
	if err := json.Unmarshal([]byte(r.stdout), &j); err != nil || j.Layout != list || len(j.Eras) != 2 ||
		j.Eras[1].Lowest != "4337243518087987200" || !j.Eras[0].Until.Equal(j.Eras[1].From) {
		t.Errorf("%s, %v", r.stdout, err)
	}
	b.check(t, exitOK, "nothing lasts longer", "", "eras", "--layout", "twitter")
	b.check(t, exitUsage, "", "want an instant after now", "eras", "--from", "2026-01-02")
	b.check(t, exitFailure, "", "bits are missing", "eras", "--next", "26-14-13")
	b.check(t, exitFailure, "", "ended at 2024-11-20T13:24:16Z", "eras", "--layout", "baidu")
	b.check(t, exitOK, "continue as", "", "eras", "--layout", "28-22-13@2018-06-01T00:00:00Z") // ends this year
	b.check(t, exitOK, `"until":"20487-10-20T00:36:16Z"`, "",
		"eras", "--json", "--next", "40-10-13", "--from", "2030-01-01")
	b.check(t, exitOK, `"expires":"1116974-`, "", "plan", "--json", "--layout", "45-5-13")
	for want, layout := range map[string]string{
		"want the instant at which": "default,36-14-13",
		"era 1":                     "default,36-14-13@2020-01-01T00:00:00Z",
		"has no eras":               "keyworker-original,41-10-12@2030-01-01T00:00:00Z",
	} {
		b.check(t, exitUsage, "", want, "parse", "--layout", layout, "5")
	}
	b.check(t, exitOK, `"time":"2030-01-01T00:00:00Z"`, "",
		"parse", "-f", "json", "--zone", "UTC", "--layout", list, "4337243518087987200")
	b.check(t, exitFailure, "", "outside of the layout",
		"parse", "--layout", "24-10-10,26-10-10@2026-02-01T00:00:00Z", "9000000000000000000")
	made := b.check(t, exitOK, "", "", "gen", "--worker", "7", "--layout", list)
	b.check(t, exitOK, `"worker":7`, "", "parse", "-f", "json", "--layout", list, strings.TrimSpace(made.stdout))
}
