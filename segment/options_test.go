package segment_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*segment.Options{
		"Prefetch is 100":             {Prefetch: 100},
		"Prefetch is -1":              {Prefetch: -1},
		"MaxStep is -1":               {MaxStep: -1},
		"StepWindow is -1ns":          {StepWindow: -1},
		"FetchTimeout is -1s":         {FetchTimeout: -time.Second},
		"RetryMin is -1s":             {RetryMin: -time.Second},
		"RetryMax is 1ms, want at le": {RetryMax: time.Millisecond},
		"Refresh is -2ns":             {Refresh: -2},
	} {
		g, err := segment.New(t.Context(), newFake(1), o)
		if !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, %v, want ErrOptions with %q", g, err, want)
		}
	}
	if _, err := segment.New(t.Context(), nil, nil); !errors.Is(err, segment.ErrOptions) {
		t.Errorf("New without a source = %v, want ErrOptions", err)
	}
	fetchOnly := segtest.Func(newFake(1).Fetch)
	_, err := segment.New(t.Context(), fetchOnly, &segment.Options{Listed: true})
	if !errors.Is(err, segment.ErrOptions) {
		t.Errorf("New with Listed over a source without List = %v, want ErrOptions", err)
	}
	g := segtest.New(t, fetchOnly, nil)
	if err := g.Refresh(t.Context()); err != nil {
		t.Errorf("Refresh over a source without List = %v, want nil", err)
	}
	if ids := segtest.Next(t, g, "a", 3); ids[2] != 2 {
		t.Errorf("the third id is %d, want 2", ids[2])
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r    segment.Range
		n    int64
		text string
	}{
		{segment.Range{From: 1, To: 1001}, 1000, "[1, 1001)"},
		{segment.Range{From: 1, To: 12, Stride: 2}, 6, "[1, 12) by 2"},
		{segment.Range{From: 1, To: 11, Stride: 2}, 5, "[1, 11) by 2"},
		{segment.Range{From: 1, To: 2, Stride: 9}, 1, "[1, 2) by 9"},
		{segment.Range{From: 5, To: 5}, 0, "[5, 5)"},
		{segment.Range{From: 0, To: math.MaxInt64}, math.MaxInt64, "[0, 9223372036854775807)"},
	} {
		if n := tt.r.Len(); n != tt.n || tt.r.String() != tt.text {
			t.Errorf("%v has %d ids, want %s with %d", tt.r, n, tt.text, tt.n)
		}
	}
}
