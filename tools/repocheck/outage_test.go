package repocheck

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/human"
)

// TestOutageFigures: docs/service.md has the figures of the raw result that it links to.
func TestOutageFigures(t *testing.T) {
	t.Parallel()
	raw := regexp.MustCompile(`killed for (\S+) under load: (\d+) ids of a tag and (\d+) time-ordered ids, ` +
		`0 calls failed, none twice`).FindStringSubmatch(read(t, "bench/results/client-outage.txt"))
	if raw == nil || raw[2] != raw[3] {
		t.Fatalf("the raw result is %q", raw)
	}
	away, err := time.ParseDuration(raw[1])
	if err != nil {
		t.Fatal(err)
	}
	ids, err := strconv.ParseInt(raw[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(read(t, "docs/service.md")), " ")
	for _, want := range []string{
		"started again " + strconv.FormatFloat(away.Seconds(), 'f', -1, 64) + " s later",
		"None of their " + human.Count(ids) + " calls of each kind failed",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/service.md lacks %q", want)
		}
	}
}
