package winlog_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/winlog"
)

// TestWatchSpan: a claim that is watched has the span of the claim behind it, or 0 if that says none.
func TestWatchSpan(t *testing.T) {
	t.Parallel()
	report := func(winlog.Window) {}
	plain, span := claimtest.Static(1), &claimtest.Memory{Span: 7 * time.Minute}
	for _, tt := range []struct {
		a    assigner.Assigner
		want time.Duration
	}{
		{plain, 0}, {&claimtest.Memory{TellTime: true}, 0}, {span, 7 * time.Minute},
		{winlog.Watch(plain, report), 0}, {winlog.Watch(span, report), 7 * time.Minute},
	} {
		c, err := winlog.Watch(tt.a, report).Assign(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		w, ok := c.(assigner.Windowed)
		if !ok || w.Span() != tt.want {
			t.Errorf("a watched claim of %T is Windowed: %v, want a span of %v", tt.a, ok, tt.want)
		}
	}
}
