package main

import "testing"

func TestParse(t *testing.T) {
	t.Parallel()
	const text = "  Latency Distribution\n     50%  315.00us\n     75%  549.00us\n     99%    " +
		"2.05ms\n  78430 requests in 2.00s, 1.2MB read\nRequests/sec:  39215.06\n"
	n, rate, p50, p99, err := parse(text)
	if n != 78430 || rate != 39215.06 || p50 != 315 || p99 != 2050 || err != nil {
		t.Errorf("parse = %v, %v, %v, %v, %v", n, rate, p50, p99, err)
	}
	for _, bad := range []string{"", text + "  Non-2xx or 3xx responses: 7\n"} {
		if _, _, _, _, err := parse(bad); err == nil {
			t.Errorf("parse(%q) succeeds", bad)
		}
	}
	if m := median([]float64{9, 1, 5, 7}); m != 6 {
		t.Errorf("median = %v, want 6", m)
	}
}
