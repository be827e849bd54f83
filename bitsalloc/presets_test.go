package bitsalloc_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// presets returns every layout that the package names.
func presets() []bitsalloc.Layout {
	return []bitsalloc.Layout{
		{},
		compat.Baidu(),
		compat.BaiduSample(),
		compat.Snowflake(time.Time{}),
		compat.Snowflake(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)),
		compat.Twitter(),
		compat.ShardGene(),
	}
}

// Widths, ticks, epochs and ends of all presets in one place.
func TestPresets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		layout  bitsalloc.Layout
		text    string
		expires string
	}{
		{"Baidu", compat.Baidu(), "28-22-13-0/1s@2016-05-19T16:00:00Z", "2024-11-20T13:24:16Z"},
		{"BaiduSample", compat.BaiduSample(), "29-21-13-0/1s@2016-09-19T16:00:00Z", "2033-09-24T10:48:32Z"},
		{"Snowflake", compat.Snowflake(time.Time{}), "41-10-12-0/1ms@2026-01-01T00:00:00Z",
			"2095-09-07T15:47:35.552Z"},
		{"Snowflake since 1970", compat.Snowflake(time.UnixMilli(0)),
			"41-10-12-0/1ms@1970-01-01T00:00:00Z", "2039-09-07T15:47:35.552Z"},
		{"Twitter", compat.Twitter(), "41-10-12-0/1ms@2010-11-04T01:42:54.657Z", "2080-07-10T17:30:30.209Z"},
		{"ShardGene", compat.ShardGene(), "41-10-10-2/1ms@2017-03-10T02:06:50.226Z", "2086-11-14T17:54:25.778Z"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := mustNew(t, tc.layout)
			if got := a.Layout().String(); got != tc.text {
				t.Errorf("layout is %s, want %s", got, tc.text)
			}
			if got := a.Expires().Format(time.RFC3339Nano); got != tc.expires {
				t.Errorf("expires %s, want %s", got, tc.expires)
			}
		})
	}
}
