package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServeNumbers: a file names the numbers of a server. The command goes on where the server stopped,
// hidden counters have the keys of the environment, and tokens name the numbers that they are for.
func TestServeNumbers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "numbers")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# ours\n\norder  Asia/Shanghai  {shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}\n" +
		"coupon UTC {n plain 8 never\thidden}{ version }\n")
	b.check(t, exitUsage, "", `line 4: the counter of "coupon" is hidden, and UID_NUMBER_KEYS is not set`, "serve", "--addr",
		"127.0.0.1:0", "--only", "segment", "--numbers", file)
	b.env["UID_NUMBER_KEYS"] = "2:" + strings.Repeat("ab", 16) + ",1:" + strings.Repeat("cd", 32)
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("all\nshop number=order\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := b.serve(t, "--numbers", file, "--token-file", tokens, "--wait", "1m")
	for _, a := range []asked{
		{"GET /api/number/get/order?shop=BJ", all, "", "200 \r\n\r\nBJ-20261123-000001-0"},
		{"POST /api/number/get/order?shop=BJ", "Authorization: Bearer shop", "", "200 \r\n\r\nBJ-20261123-000002-Y"},
		{"GET /api/number/get/coupon", "Authorization: Bearer shop", "", "403 "},
		{"GET /api/number/get/order?shop=BJ", "", "", "401 "},
		{"GET /api/number/get/order?shop=BJ", all + "|Sec-Fetch-Site: cross-site", "", "403 another origin"},
		{"HEAD /api/number/get/order?shop=BJ", all, "", "405 Allow: GET, POST"},
		{"GET /api/number/get/coupon?count=2", all, "", "200 Content-Type: application/json"},
		{"GET /metrics", all, "", `200 tag="order@20261123@BJ"`},
	} {
		a.check(t, strings.TrimPrefix(s.base, "http://"))
	}
	s.stop()
	if want := "numbers of coupon, order; "; !strings.Contains(s.stderr(), want) {
		t.Errorf("serve prints %s\nwant %s", s.stderr(), want)
	}
	b.check(t, exitOK, "BJ-20261123-000003-W\n", "", "number", "next", "order", "BJ")
	r := b.check(t, exitOK, "", "", "number", "next", "coupon")
	coupon := strings.TrimSpace(r.stdout)
	if !strings.HasSuffix(coupon, "2") {
		t.Errorf("a coupon is %s, want version 2 at its end", coupon)
	}
	b.check(t, exitOK, "count    3\n", "", "number", "parse", "coupon", coupon)
	for _, version := range []string{"1", "2"} {
		b.env["UID_NUMBER_KEYS"] = version + ":" + strings.Repeat("ef", 16)
		b.check(t, exitUsage, "", "coupon_key"+version, "number", "next", "coupon")
	}
	for keys, want := range map[string]string{
		"2:xyz": "key 1 is not VERSION:HEX", "9:abab": "key 1 is not VERSION:HEX", "ab": "key 1 is not VERSION:HEX",
		"": "UID_NUMBER_KEYS is not set",
	} {
		b.env["UID_NUMBER_KEYS"] = keys
		if r := b.check(t, exitUsage, "", want, "number", "next", "coupon"); strings.Contains(r.stderr, "xyz") {
			t.Errorf("stderr shows the key: %s", r.stderr)
		}
	}
	for text, want := range map[string]string{
		"order\n":                              "line 1: want NAME ZONE FORMAT",
		"order Nowhere/X {n 6 never}\n":        "line 1: unknown time zone Nowhere/X, want one",
		"a UTC {n 4 never}\na UTC {n 4 never}": `line 2: "a" occurs twice`,
		"a UTC {n 4 day}\n":                    "line 1: ",
		"order UTC X{n 4 never}\n":             "another format",
	} {
		write(text)
		b.check(t, exitUsage, "", want, "serve", "--addr", "127.0.0.1:0", "--only", "segment", "--numbers", file)
	}
	b.check(t, exitUsage, "", "--only snowflake leaves them out", "serve", "--only", "snowflake", "--numbers", file)
	b.check(t, exitFailure, "", "--numbers: ", "serve", "--addr", "127.0.0.1:0", "--only", "segment", "--numbers",
		file+".missing")
}
