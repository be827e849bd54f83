package prometheus_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/metrics/internal/metric/metrictest"
	uidprom "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt")

// TestCollect compares every name, help, type, label and value with testdata/metrics.txt.
func TestCollect(t *testing.T) {
	t.Parallel()
	const file = "testdata/metrics.txt"
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(uidprom.New("orders", metrictest.Generator{}),
		uidprom.NewSegments("numbers", metrictest.Segments(4), 2))
	if *update {
		if err := prometheus.WriteToTextfile(file, registry); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if err := testutil.GatherAndCompare(registry, want); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// TestGenerators: two generators of a process share a registry, and a Default has no figures of a
// ring.
func TestGenerators(t *testing.T) {
	t.Parallel()
	cached, err := uid.NewCached(t.Context(), claimtest.Static(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cached.Close()
	plain, err := uid.NewDefault(t.Context(), claimtest.Static(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := cached.Fill(t.Context(), make([]uid.ID, 1000)); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(uidprom.New("cached", cached), uidprom.New("plain", plain))
	var text strings.Builder
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			fmt.Fprintln(&text, f.GetName(), m.String())
		}
	}
	lines := strings.Split(text.String(), "\n")
	has := func(name, generator string) bool {
		return slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, name+" ") && strings.Contains(l, `"`+generator+`"`)
		})
	}
	for _, name := range []string{"uidring_lead_seconds", "uidring_worker_id", "uidring_rejects_total",
		"uidring_ids_issued_total"} {
		if !has(name, "cached") || !has(name, "plain") {
			t.Errorf("%s is missing for a generator", name)
		}
	}
	for _, name := range []string{"uidring_runs_taken_total", "uidring_ring_ids"} {
		if !has(name, "cached") || has(name, "plain") {
			t.Errorf("%s exists for Default, or is missing for Cached", name)
		}
	}
	if has("uidring_window_end_timestamp_seconds", "cached") {
		t.Error("a window without an end has an end")
	}
}

// growing is a source that has the tags from first to 5. A lower first adds tags before the others.
type growing struct{ first int }

func (g *growing) Stats() segment.Stats {
	var s segment.Stats
	for i := g.first; i < 6; i++ {
		s.Tags = append(s.Tags, segment.TagStats{Tag: fmt.Sprint(i), Fetches: int64(10 + i)})
	}
	return s
}

// TestTagsStay: a tag keeps its series when other tags are added, so that no counter decreases.
func TestTagsStay(t *testing.T) {
	t.Parallel()
	g := &growing{first: 3}
	c := uidprom.NewSegments("numbers", g, 2)
	want := func(text string) {
		t.Helper()
		const head = "# HELP uidring_segment_fetches_total Ranges that arrived.\n# TYPE " +
			"uidring_segment_fetches_total counter\n"
		if err := testutil.CollectAndCompare(c, strings.NewReader(head+text),
			"uidring_segment_fetches_total"); err != nil {
			t.Error(err)
		}
	}
	series := `uidring_segment_fetches_total{generator="numbers",tag="3"} 13
uidring_segment_fetches_total{generator="numbers",tag="4"} 14
uidring_segment_fetches_total{generator="numbers",tag="(other)"} `
	want(series + "15\n")
	g.first = 1
	want(series + "38\n")
}

// days is a source of tags that leave.
type days []segment.TagStats

func (d *days) Stats() segment.Stats { return segment.Stats{Tags: *d} }

// TestTagsLeave: a tag that the generator has forgotten leaves its series to others, as the numbers of a day
// do. The sum of the others does not decrease when a tag leaves it or is made anew, and does not leap when two
// scrapes change places.
func TestTagsLeave(t *testing.T) {
	t.Parallel()
	d := &days{}
	c := uidprom.NewSegments("numbers", d, 2)
	for _, step := range []struct {
		tags string
		want string
	}{
		{"1@A 10 1@B 20 1@C 30", "1@A 10 1@B 20 (other) 30"},
		{"1@B 20 2@A 11 2@B 21", "1@B 20 2@A 11 (other) 51"},
		{"2@A 12 2@B 22", "2@A 12 2@B 22"},
		{"2@A 12 2@B 22 2@C 5", "2@A 12 2@B 22 (other) 56"},
		{"2@A 12 2@B 22 2@C 1", "2@A 12 2@B 22 (other) 56"}, // forgotten and found again
		{"2@A 12 2@B 22 2@C 9", "2@A 12 2@B 22 (other) 64"},
		{"2@A 12 2@B 22 2@C 8", "2@A 12 2@B 22 (other) 64"}, // a scrape that began before the last
		{"2@A 12 2@B 22 2@C 9", "2@A 12 2@B 22 (other) 65"},
	} {
		*d = nil
		for words := strings.Fields(step.tags); len(words) > 0; words = words[2:] {
			n, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			*d = append(*d, segment.TagStats{Tag: words[0], Fetches: n})
		}
		want := "# HELP uidring_segment_fetches_total Ranges that arrived.\n" +
			"# TYPE uidring_segment_fetches_total counter\n"
		for words := strings.Fields(step.want); len(words) > 0; words = words[2:] {
			want += fmt.Sprintf("uidring_segment_fetches_total{generator=\"numbers\",tag=%q} %s\n", words[0], words[1])
		}
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), "uidring_segment_fetches_total"); err != nil {
			t.Error(err)
		}
	}
}

// TestTagsAnew: no counter of the sum of the others decreases when a tag of it is forgotten and made anew
// between two scrapes, whichever of its counters is lower then.
func TestTagsAnew(t *testing.T) {
	t.Parallel()
	for name, low := range map[string]segment.TagStats{
		"ids_issued":     {Issued: 1, Fetches: 5, Failures: 5, Waits: 5},
		"fetches":        {Issued: 5, Fetches: 1, Failures: 5, Waits: 5},
		"fetch_failures": {Issued: 5, Fetches: 5, Failures: 1, Waits: 5},
		"waits":          {Issued: 5, Fetches: 5, Failures: 5, Waits: 1},
	} {
		d := &days{{Tag: "A"}, {Tag: "B", Issued: 5, Fetches: 5, Failures: 5, Waits: 5}}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(uidprom.NewSegments("numbers", d, 1))
		if _, err := registry.Gather(); err != nil {
			t.Fatal(err)
		}
		low.Tag = "B"
		(*d)[1] = low
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetType().String() != "COUNTER" {
				continue
			}
			for _, m := range f.GetMetric() {
				if v := m.GetCounter().GetValue(); v < 5 && strings.Contains(m.String(), "(other)") {
					t.Errorf("with less %s, %s of the others is %v after 5", name, f.GetName(), v)
				}
			}
		}
	}
}

// odd is a source whose tags have names that no label, or no label of its own, can have.
type odd []string

func (o odd) Stats() (s segment.Stats) {
	for i, tag := range o {
		s.Tags = append(s.Tags, segment.TagStats{Tag: tag, Fetches: 1 << i})
	}
	return s
}

// TestOddTags: a tag that is called "(other)", or that is not UTF-8, is in the sum of the others.
func TestOddTags(t *testing.T) {
	t.Parallel()
	for tags, want := range map[*odd]string{
		{"\xfe", "\xff", "a"}:              "4 3",
		{"(other)", "a", "b", "c"}:         "2 9",
		{"a", "b", "(other)", "\xff", "d"}: "1 28",
		{"(other)"}:                        "- 1",
	} {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(uidprom.NewSegments("numbers", tags, 2))
		families, err := registry.Gather()
		if err != nil {
			t.Errorf("%q: %v", *tags, err)
		}
		values := map[string]string{"a": "-"}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "uidring_segment_fetches_total" {
					for _, l := range m.GetLabel() {
						values[l.GetValue()] = fmt.Sprint(m.GetCounter().GetValue())
					}
				}
			}
		}
		if got := values["a"] + " " + values["(other)"]; got != want {
			t.Errorf("%q: a and the others have %s, want %s", *tags, got, want)
		}
	}
}
