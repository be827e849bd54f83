package assigner

import (
	"fmt"
	"strings"
	"time"
)

// CompareLayouts compares the text that an authority's claims are bound to, have, with the one that
// another claim is bound to, want. A text has one layout, or several that succeed one another,
// joined by commas (bitsalloc.Eras.String). Each begins at its epoch.
//
// cut is not zero if have has layouts that want lacks: the claim's windows end there at the latest,
// with ErrSuperseded. added is not zero if want has layouts that have lacks: the authority takes
// want over only if no window that it has given out reaches beyond added. If neither text begins
// with the other, the error wraps ErrLayoutMismatch.
//
// It compares texts and parses no more of them than the epoch where one goes beyond the other, so
// both have to be canonical. It does no I/O.
func CompareLayouts(have, want string) (cut, added time.Time, err error) {
	if rest, ok := strings.CutPrefix(have, want+","); ok {
		cut, err = beginOf(rest)
	} else if rest, ok := strings.CutPrefix(want, have+","); ok {
		added, err = beginOf(rest)
	} else if have != want {
		err = fmt.Errorf("%w: other claims have the layout %q, this one has %q",
			ErrLayoutMismatch, have, want)
	}
	return cut, added, err
}

// beginOf returns the epoch of the first layout of a text.
func beginOf(text string) (time.Time, error) {
	text, _, _ = strings.Cut(text, ",")
	_, epoch, _ := strings.Cut(text, "@")
	t, err := time.Parse(time.RFC3339Nano, epoch)
	if err != nil {
		return t, fmt.Errorf("%w: the layout %q has no epoch", ErrLayoutMismatch, text)
	}
	return t, nil
}
