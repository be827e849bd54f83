package service_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/service"
)

// numbers returns the numbers "order", with a key, "plain" without and "short", of which there are 9.
func numbers(t *testing.T) (map[string]*number.Number, *segmenttest.Counters) {
	t.Helper()
	src := &segmenttest.Counters{}
	g, err := segment.New(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	all := map[string]*number.Number{}
	for name, format := range map[string]string{
		"order": "{shop upper 2}-{20060102}-{n 6 day}", "plain": "P{n 4 never}", "short": "S{n 1 never}",
	} {
		all[name], err = number.New(t.Context(), g, name, format, &number.Options{
			Clock: func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all, src
}

// TestNumbers: a number is plain text, with count there are several, and a request that names its keys
// wrongly uses none up.
func TestNumbers(t *testing.T) {
	t.Parallel()
	all, _ := numbers(t)
	h := newHandler(t, &service.HandlerOptions{Numbers: all, Timeout: time.Minute})
	for _, tt := range []struct {
		line, want string
		status     int
	}{
		{"/api/number/get/order?shop=BJ", "BJ-20261123-000001", 200},
		{"/api/number/get/order/?shop=BJ", "BJ-20261123-000002", 200},
		{"/api/number/get/order?shop=SH&count=2", "[\"SH-20261123-000001\",\"SH-20261123-000002\"]\n", 200},
		{"/api/number/get/order", "the parameter shop is missing, want shop\n", 400},
		{"/api/number/get/order?shop=", "", 400},
		{"/api/number/get/order?shop=bj", "", 400},
		{"/api/number/get/order?shop=BJ&shop=SH", "shop is given 2 times, want it once\n", 400},
		{"/api/number/get/order?shop=BJ&till=1", "the parameter \"till\" is not known, want shop, count\n", 400},
		{"/api/number/get/order?shop=BJ&count=0", "count is \"0\", want 1..1000\n", 400},
		{"/api/number/get/order?shop=BJ&%zz", "the parameters are not URL-encoded\n", 400},
		{"/api/number/get/order?shop=BJ", "BJ-20261123-000003", 200},
		{"/api/number/get/plain", "P0001", 200},
		{"/api/number/get/plain?shop=BJ", "the parameter \"shop\" is not known, want count\n", 400},
		{"/api/number/get/nothing", "unknown name \"nothing\"\n", 404},
		{"/api/number/get/short?count=12", "[\"S1\",\"S2\",\"S3\",\"S4\",\"S5\",\"S6\",\"S7\",\"S8\",\"S9\"]\n", 200},
		{"/api/number/get/short", "no id until an operator has looked into it\n", 500},
	} {
		w := get(h, tt.line)
		if got := w.Body.String(); w.Code != tt.status || tt.want != "" && got != tt.want {
			t.Errorf("GET %s = %d %q, want %d %q", tt.line, w.Code, got, tt.status, tt.want)
		}
	}
	for _, bad := range []map[string]*number.Number{{"x": nil}, {"count": counting(t)}} {
		if _, err := service.NewHandler(&service.HandlerOptions{Numbers: bad}); err == nil {
			t.Errorf("NewHandler takes %v", bad)
		}
	}
}

// counting returns numbers whose key is called count.
func counting(t *testing.T) *number.Number {
	t.Helper()
	g, err := segment.New(t.Context(), &segmenttest.Counters{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	n, err := number.New(t.Context(), g, "counting", "{count digits 2}-{n 4 never}", nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
