package segments

import (
	"testing"

	"github.com/uidring/uidring/test/internal/soak"
)

// TestReport: the report shows the figures of the file, all of them and no others, and those of a
// good run.
func TestReport(t *testing.T) {
	t.Parallel()
	r := soak.Shown[result](t, "../../..", "segments", "test/soak segments", "test/segment/results/soak.json")
	if r.Twice != 0 || r.Falls != 0 || len(r.Failures) != 0 || len(r.IDs) != len(kinds) {
		t.Errorf("the report shows a bad run: %+v", r)
	}
}
