package service

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service/internal/wire"
)

// Fetch returns a range of the tag that no other caller gets, whichever server it comes from. It
// implements segment.Source. All servers must use the same counters. Fetch asks each server once
// and does not wait for one to come back, because segment.Generator repeats a Fetch that failed. So
// it blocks for ClientOptions.Timeout a server at most, or until ctx ends. A range that says that
// its counter begins again is refused unless ClientOptions.Cyclic is set.
//
// Fetch keeps no range to compare with, whichever Origin one names. A segment.Generator on the
// Client compares each with all earlier ones, of other Origins too, and refuses ids that it has
// had; a caller that hands out ids without a Generator must do the same, as segment.Source says.
//
// Errors wrap segment.ErrUnknownTag, segment.ErrExhausted and segment.ErrBadRange where a server
// says so, and otherwise the error of each server. A range whose answer was lost is a gap.
func (c *Client) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if tag == "" {
		return segment.Range{}, fmt.Errorf("service: the tag is empty: %w", segment.ErrUnknownTag)
	}
	key := url.PathEscape(tag)
	if strings.Trim(key, ".") == "" {
		key = strings.ReplaceAll(key, ".", "%2E") // "." and ".." would be resolved in the path
	}
	path := wire.RangePath + key
	if step != 0 {
		path += "?count=" + strconv.FormatInt(step, 10)
	}
	check := func(got wire.Range) error {
		if got.Cyclic && !c.cyclic {
			return errors.New("cyclic is true, so that ids may repeat, want false, or " +
				"ClientOptions.Cyclic set")
		}
		return got.Range().Validate()
	}
	got, _, err := round(ctx, c, anyServer, path, nil, check)
	if err != nil {
		return segment.Range{}, fmt.Errorf("service: fetching a range: %w", err)
	}
	return got.Range(), nil
}
