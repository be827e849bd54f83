package assignertest

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/assigner"
)

// checkUniverse: claims that name their universe agree, whichever process has made them, also after
// an extension, and those of another authority have another name.
func checkUniverse(ctx context.Context, e env) error {
	names := map[string]bool{}
	for range 3 {
		c, err := e.process().Assign(ctx, e.MaxWorker)
		if err != nil {
			return fmt.Errorf("Assign(%d): %w", e.MaxWorker, err)
		}
		n, ok := c.(assigner.Named)
		if !ok {
			return nil
		}
		names[n.Universe()] = true
		if _, until := c.Window(); !until.IsZero() {
			if _, err := c.Extend(ctx, until.Add(1)); err != nil {
				return fmt.Errorf("Extend: %w", err)
			}
		}
		names[n.Universe()] = true
	}
	if len(names) > 1 {
		return fmt.Errorf("the claims name their universe %v, want one name", names)
	}
	other, err := e.Authority(e.tb)().Assign(ctx, e.MaxWorker)
	if err != nil {
		return fmt.Errorf("Assign(%d) of another authority: %w", e.MaxWorker, err)
	}
	//nolint:errcheck,forcetypeassert // as those of the first
	if name := other.(assigner.Named).Universe(); name != "" && names[name] {
		return fmt.Errorf("another authority's universe is called %q as well", name)
	}
	return nil
}
