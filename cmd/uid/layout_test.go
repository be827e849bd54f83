package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLayoutFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags layoutFlags
		want  string
	}{
		{layoutFlags{}, "28-22-13-0/1s@2026-01-01T00:00:00Z"},
		{layoutFlags{Layout: "default"}, "28-22-13-0/1s@2026-01-01T00:00:00Z"},
		{layoutFlags{Layout: "Twitter"}, "41-10-12-0/1ms@2010-11-04T01:42:54.657Z"},
		{layoutFlags{Layout: "baidu"}, "28-22-13-0/1s@2016-05-19T16:00:00Z"},
		{layoutFlags{Layout: "shardgene"}, "41-10-10-2/1ms@2017-03-10T02:06:50.226Z"},
		{layoutFlags{Layout: "41-10-12", Tick: time.Millisecond, Epoch: "1288834974657"},
			"41-10-12-0/1ms@2010-11-04T01:42:54.657Z"},
		{layoutFlags{Layout: "30-10-10-3/10ms@2020-01-01T00:00:00+08:00"}, "30-10-10-3/10ms@2019-12-31T16:00:00Z"},
		{layoutFlags{Layout: "baidu", Epoch: "2020-02-29"}, "28-22-13-0/1s@2020-02-29T00:00:00Z"},
	} {
		n, err := c.flags.resolve()
		if err != nil {
			t.Errorf("%+v: %v", c.flags, err)
			continue
		}
		if got := n.alloc.Layout().String(); got != c.want {
			t.Errorf("%+v = %s, want %s", c.flags, got, c.want)
		}
	}
}

func TestLayoutFlagsErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags layoutFlags
		want  string
	}{
		{layoutFlags{Layout: "twiter"}, "want default, baidu"},
		{layoutFlags{Layout: "28-22"}, "2 widths"},
		{layoutFlags{Layout: "28-22-x"}, "SeqBits"},
		{layoutFlags{Layout: "41-22-13"}, "63"},
		{layoutFlags{Epoch: "yesterday"}, "--epoch"},
		{layoutFlags{Epoch: "2026-02-30"}, "--epoch"},
		{layoutFlags{Layout: "keyworker-original", Tick: time.Second}, "own epoch"},
	} {
		_, err := c.flags.resolve()
		var usage usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want a usage error with %q", c.flags, err, c.want)
		}
	}
}
