package assignertest

import (
	"context"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
)

// checkUniverse: claims that name their universe agree, whichever process has made them, also after
// an extension, and those of another authority have another name.
func checkUniverse(ctx context.Context, e env) {
	names := map[string]bool{}
	for range 3 {
		c := e.assign(ctx)
		n, ok := winlog.Unwatched(c).(assigner.Named)
		if !ok {
			return
		}
		names[n.Universe()] = true
		if _, until := c.Window(); !until.IsZero() {
			extend(ctx, c, until.Add(1))
		}
		names[n.Universe()] = true
	}
	if len(names) > 1 {
		failf("the claims name their universe %v, want one name", names)
	}
	other, err := e.Authority(e.tb)().Assign(ctx, e.MaxWorker)
	if err != nil {
		failf("Assign(%d) of another authority: %w", e.MaxWorker, err)
	}
	//nolint:errcheck,forcetypeassert // as those of the first
	if name := other.(assigner.Named).Universe(); name != "" && names[name] {
		failf("another authority's universe is called %q as well", name)
	}
}
