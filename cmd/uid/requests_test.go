package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asked is a request and the answer that it has to get.
type asked struct {
	line string // the method and the target
	head string // lines of the header, separated by |
	body string
	want string // the status, and a part of the answer's header or body
}

const (
	js     = "Content-Type: application/json"
	urlenc = "Content-Type: application/x-www-form-urlencoded"
	all    = "Authorization: Bearer all"
	leafs  = `"layout":"41-10-12-0/1ms@2010-11-04T01:42:54.657Z"`
)

// openRequests go to a server on loopback without a token. The ids of "order" show which requests have
// used one up.
var openRequests = []asked{
	// Ids, as Leaf's clients ask for them.
	{"GET /api/segment/get/order", "", "", "200 \r\n\r\n1"},
	{"GET /api/segment/get/order/", "", "", "200 \r\n\r\n2"},
	{"POST /api/segment/get/order", "", "", "200 \r\n\r\n3"},
	{"POST /api/segment/get/order/", urlenc, "a=b", "200 \r\n\r\n4"},
	{"HEAD /api/segment/get/order", "", "", "405 Allow: GET, POST"},
	{"HEAD /api/segment/get/order/", "", "", "405 Allow: GET, POST"},
	{"GET /api/segment/get/order?count=1", "", "", `200 ["5"]`},
	{"GET /api/segment/get/order/?count=3", "", "", `200 ["6","7","8"]`},
	{"POST /api/segment/get/order?count=2", "", "", `200 ["9","10"]`},
	{"GET /api/segment/get/order?count=0", "", "", `400 count is "0", want 1..1000`},
	{"GET /api/segment/get/order?count=1001", "", "", "400 want 1..1000"},
	{"GET /api/segment/get/order?count=-1", "", "", "400 want 1..1000"},
	{"GET /api/segment/get/order?count=1e3", "", "", "400 want 1..1000"},
	{"GET /api/segment/get/order?count=99999999999999999999", "", "", "400 want 1..1000"},
	{"GET /api/segment/get/order?count=", "", "", "400 want 1..1000"},
	{"GET /api/segment/get/order?count", "", "", "400 want 1..1000"},
	{"GET /api/segment/get/order?count=1&count=1", "", "", "400 given 2 times"},
	{"GET /api/segment/get/order?conut=1", "", "", "400 not known, want count"},
	{"GET /api/segment/get/order?Count=1", "", "", "400 not known, want count"},
	{"GET /api/segment/get/order?count=%zz", "", "", "400 not URL-encoded"},
	{"GET /api/segment/get/order?count=1;count=2", "", "", "400 not URL-encoded"},
	{"GET /api/segment/get/order?", "", "", "200 \r\n\r\n11"},
	{"GET /api/segment/get/order#x", "", "", "404 "},
	{"GET /api/segment/get/Order", "", "", "404 unknown key"},
	{"GET /api/segment/get/order.v2", "", "", "404 unknown key"},
	{"GET /api/segment/get/nobody", "", "", `404 unknown key "nobody"`},
	{"GET /api/segment/get/%00", "", "", `404 unknown key "\x00"`},
	{"GET /api/segment/get/%FF%FE", "", "", `404 unknown key "\xff\xfe"`},
	{"GET /api/segment/get/%E8%AE%A2%E5%8D%95", "", "", `404 unknown key "订单"`},
	{"GET /api/segment/get/%3Cscript%3E", "", "", "404 X-Content-Type-Options: nosniff"},
	{"GET /api/segment/get/a%2Fb", "", "", `404 unknown key "a/b"`},
	{"GET /api/segment/get/a/b", "", "", "404 page not found"},
	{"GET /api/segment/get/order%20", "", "", "404 unknown key"},
	{"GET /api/segment/get/" + strings.Repeat("x", 300), "", "", "404 unknown key"},
	{"GET /api/segment/get/" + strings.Repeat("x", 8000), "", "", "404 unknown key"},
	{"GET /api/segment/get/" + strings.Repeat("x", 40000), "", "", "431 "},
	{"GET /api/segment/get/", "", "", "404 page not found"},
	{"GET /api/segment/get", "", "", "404 page not found"},
	{"GET /api/segment", "", "", "404 page not found"},
	{"GET /api//segment/get/order", "", "", "307 Location: /api/segment/get/order"},
	{"GET /api/segment/../segment/get/order", "", "", "307 Location: /api/segment/get/order"},
	{"GET /API/segment/get/order", "", "", "404 page not found"},
	{"GET /api/segment/get/order", "", "a body", "200 \r\n\r\n12"},
	{"POST /api/segment/get/order", js, strings.Repeat("x", 1<<20), "200 \r\n\r\n13"},
	{"GET /api/segment/get/order", "Accept: application/json", "", "200 \r\n\r\n14"},
	{"GET /api/segment/get/order", "Accept-Encoding: gzip, br", "", "200 \r\n\r\n15"},
	{"GET /api/segment/get/order", "If-None-Match: *|Range: bytes=0-0", "", "200 \r\n\r\n16"},
	{"GET /api/segment/get/order", "X-Forwarded-For: 10.0.0.1|Cookie: a=b", "", "200 \r\n\r\n17"},
	{"GET /api/segment/get/order", "X-HTTP-Method-Override: DELETE", "", "200 \r\n\r\n18"},
	{"GET /api/segment/get/order", "X: " + strings.Repeat("x", 15000), "", "200 \r\n\r\n19"},
	{"GET /api/segment/get/order", "X: " + strings.Repeat("x", 64<<10), "", "431 "},
	// Time-ordered ids; the key means nothing.
	{"GET /api/snowflake/get/order", "", "", "200 Content-Type: text/plain"},
	{"GET /api/snowflake/get/order/", "", "", "200 Cache-Control: no-store"},
	{"POST /api/snowflake/get/%FF", "", "", "200 "},
	{"GET /api/snowflake/get/order?count=2", "", "", `200 ["`},
	{"GET /api/snowflake/get/order?count=1001", "", "", "400 want 1..1000"},
	{"GET /api/snowflake/get/", "", "", "404 page not found"},
	{"GET /api/snowflake/get/a/b", "", "", "404 page not found"},
	// Browsers on behalf of pages of other origins.
	{"GET /api/segment/get/order", "Sec-Fetch-Site: cross-site", "", "403 another origin"},
	{"GET /api/segment/get/order", "Sec-Fetch-Site: same-site", "", "403 another origin"},
	{"GET /api/segment/get/order", "Sec-Fetch-Site: same-origin", "", "200 \r\n\r\n20"},
	{"GET /api/segment/get/order", "Sec-Fetch-Site: none", "", "200 \r\n\r\n21"},
	{"GET /api/segment/get/order", "Origin: https://evil.example", "", "403 another origin"},
	{"GET /api/segment/get/order", "Origin: null", "", "403 another origin"},
	{"POST /api/segment/range/order", "Origin: https://evil.example", "", "403 another origin"},
	{"POST /api/worker/assign", js + "|Origin: http://evil.example", "{}", "403 another origin"},
	{"GET /", "Origin: https://evil.example", "", "200 <!DOCTYPE html>"},
	{"GET /health", "Sec-Fetch-Site: cross-site", "", "200 up"},
	{"GET /api/segment/get/order", "Host: evil.example", "", "403 "},
	{"GET /api/segment/get/order", "Host: localhost:1", "", "200 \r\n\r\n22"},
	{"GET /api/segment/get/order", "Host: [::1]:8080", "", "200 \r\n\r\n23"},
	{"GET /api/segment/get/order", "Host: 10.1.2.3", "", "200 \r\n\r\n24"},
	{"GET /metrics", "Host: evil.example", "", "403 "},
	{"GET http://evil.example/api/segment/get/order", "", "", "403 "},
	// Ranges.
	{"POST /api/segment/range/order", "", "", `200 "step":100,"origin":0,"cyclic":false`},
	{"POST /api/segment/range/order/", "", "", `200 "from":`},
	{"POST /api/segment/range/order?count=7", "", "", `200 "stride":1`},
	{"POST /api/segment/range/order?count=2147483648", "", "", `200 "from":`},
	{"POST /api/segment/range/order?count=2147483649", "", "", `400 "code":"bad_request"`},
	{"POST /api/segment/range/order?count=0", "", "", `400 "code":"bad_request"`},
	{"POST /api/segment/range/order?step=7", "", "", "400 want count"},
	{"POST /api/segment/range/nobody", "", "", `404 "code":"unknown_tag"`},
	{"POST /api/segment/range/%FF", "", "", `404 "code":"unknown_tag"`},
	{"GET /api/segment/range/order", "", "", "405 Allow: POST"},
	// Worker ids.
	{"POST /api/worker/assign", js, `{"max_worker":1023,` + leafs + `}`, `200 "claim":"`},
	{"POST /api/worker/assign/", js, `{"max_worker":1023,` + leafs + `}`, `200 "claim":"`},
	{"POST /api/worker/assign", js + "; charset=utf-8", `{"max_worker":1023,` + leafs + `}`, "200 "},
	{"POST /api/worker/assign", "", `{"max_worker":1023,` + leafs + `}`, "415 application/json"},
	{"POST /api/worker/assign", urlenc, `{"max_worker":1023,` + leafs + `}`, "415 "},
	{"POST /api/worker/assign", "Content-Type: text/plain", `{}`, "415 "},
	{"POST /api/worker/assign", "Content-Type: ;;;", `{}`, "415 "},
	{"POST /api/worker/assign", js, ``, "400 bad_request"},
	{"POST /api/worker/assign", js, `{`, "400 bad_request"},
	{"POST /api/worker/assign", js, `[]`, "400 bad_request"},
	{"POST /api/worker/assign", js, `null`, "400 bad_request"},
	{"POST /api/worker/assign", js, `{"max_worker":1023}`, "400 layout is missing"},
	{"POST /api/worker/assign", js, `{"max_worker":-1,` + leafs + `}`, "400 max_worker is -1"},
	{"POST /api/worker/assign", js, `{"max_worker":"1",` + leafs + `}`, "400 bad_request"},
	{"POST /api/worker/assign", js, `{"max_worker":1e99,` + leafs + `}`, "400 bad_request"},
	{"POST /api/worker/assign", js, `{"max_worker":7,"layout":"x"}`, `409 "code":"layout_mismatch"`},
	{"POST /api/worker/assign", js, strings.Repeat(" ", 1<<20), "400 bad_request"},
	{"POST /api/worker/assign?x=1", js, `{"max_worker":7,` + leafs + `}`, "400 want none"},
	{"POST /api/worker/extend", js, `{}`, "400 bad_request"},
	{"POST /api/worker/extend", js, `{"claim":"x","worker":1,"until":"soon"}`, "400 bad_request"},
	{"POST /api/worker/extend", js, `{"claim":"x","worker":1,"until":"2999-01-01T00:00:00Z"}`, "409 unknown_claim"},
	{"POST /api/worker/release", js, `{"claim":"x","worker":1}`, "400 bad_request"},
	{"POST /api/worker/release", js, `{"claim":"x","worker":1,"used":null}`, "409 unknown_claim"},
	{"POST /api/worker/now", js, `{"claim":"x","worker":1}`, `200 "now":"`},
	{"POST /api/worker/now", js, `{}`, "400 bad_request"},
	{"POST /api/worker/nothing", js, `{}`, "404 page not found"},
	// The parts of an id.
	{"PUT /decodeSnowflakeId?snowflakeId=0", "", "", `405 want GET, HEAD, POST`},
	{"GET /decodeSnowflakeId?snowflakeId=0", "", "", `200 "workerId":"0"`},
	{"GET /decodeSnowflakeId/?snowflakeId=8384512", "", "", `200 "workerId":"1023"`},
	{"GET /decodeSnowflakeId?snowflakeId=9223372036854775807", "", "", `200 "sequenceId":"4095"`},
	{"GET /decodeSnowflakeId?snowflakeId=9223372036854775808", "", "", `400 "errorMsg"`},
	{"GET /decodeSnowflakeId?snowflakeId=-1", "", "", `400 "errorMsg"`},
	{"GET /decodeSnowflakeId?snowflakeId=x", "", "", `400 "errorMsg"`},
	{"GET /decodeSnowflakeId", "", "", `400 "errorMsg"`},
	{"POST /decodeSnowflakeId", urlenc, "snowflakeId=8384512", `200 "workerId":"1023"`},
	{"POST /decodeSnowflakeId", js, `{"snowflakeId":1}`, `400 "errorMsg"`},
	{"POST /decodeSnowflakeId", urlenc, "snowflakeId=" + strings.Repeat("1", 1<<20), `400 "errorMsg"`},
	{"POST /decodeSnowflakeId?snowflakeId=1", urlenc, "snowflakeId=1", "400 given 2 times"},
	// Pages.
	{"GET /", "", "", "200 frame-ancestors 'none'"},
	{"GET /?q=order&page=2", "", "", "200 <!DOCTYPE html>"},
	{"GET /?q=%3Cscript%3E", "", "", "200 &lt;script&gt;"},
	{"GET /?page=-7", "", "", "200 <!DOCTYPE html>"},
	{"GET /cache/", "", "", "200 <!DOCTYPE html>"},
	{"GET /debug/uid", "", "", "200 <!DOCTYPE html>"},
	{"GET /metrics", "", "", "200 uid_http_requests_total"},
	{"GET /metrics", "Accept: application/openmetrics-text", "", "200 uid_"},
	{"GET /openapi.json", "", "", `200 "openapi": "3.0.3"`},
	{"GET /health/", "", "", "200 up"},
	{"GET /favicon.ico", "", "", "404 page not found"},
	{"GET /db", "", "", "404 page not found"},
	{"GET /../../etc/passwd", "", "", "307 Location: /etc/passwd"},
	{"GET /debug/pprof/", "", "", "404 page not found"},
	{"OPTIONS *", "", "", "200 "},
	// What is not HTTP as it should be.
	{"GET /api/segment/get/order", "Host: a b", "", "400 "},
	{"GET /api/segment/get/order", "Host: 127.0.0.1|Host: 127.0.0.1", "", "400 "},
	{"GET /api/segment/get/order", "Content-Length: 1|Content-Length: 2", "", "400 "},
	{"GET /api/segment/get/order", "Content-Length: -1", "", "400 "},
	{"GET /api/segment/get/order", "Transfer-Encoding: gzip", "", "501 "},
	{"GET /api/segment/get/order", " folded", "", "400 "},
	{"GET /api/segment/get/order", "no colon", "", "400 "},
	{"GET /api/segment/get/%zz", "", "", "400 "},
	{"G@T /api/segment/get/order", "", "", "400 "},
	{"GET api/segment/get/order", "", "", "400 "},
	{"GET /api/segment/get/order", "Expect: 200-ok", "", "417 "},
	{"GET /api/segment/get/order", "", "", "200 \r\n\r\n25"},
}

// tokenRequests go to a server whose file names a token for everything, one for the tag "order", one for
// tags that begin with "a/", one for time-ordered ids and one for worker ids.
var tokenRequests = []asked{
	{"GET /api/segment/get/order", "", "", "401 Www-Authenticate: Bearer"},
	{"GET /api/segment/get/order", all, "", "200 \r\n\r\n1"},
	{"GET /api/segment/get/order", "authorization: bearer all", "", "200 \r\n\r\n2"},
	{"GET /api/segment/get/order", "Authorization: Basic YWxsOg==", "", "401 "},
	{"GET /api/segment/get/order", "Authorization: Bearer  all", "", "401 "},
	{"GET /api/segment/get/order", "Authorization: Bearer All", "", "401 "},
	{"GET /api/segment/get/order", "Authorization: Bearer", "", "401 "},
	{"GET /api/segment/get/order", "Authorization: Bearer " + strings.Repeat("x", 9000), "", "401 "},
	{"GET /api/segment/get/order?token=all", "", "", "401 "},
	{"GET /api/segment/get/order", "Authorization: Bearer tag", "", "200 \r\n\r\n3"},
	{"GET /api/segment/get/order/", "Authorization: Bearer tag", "", "200 \r\n\r\n4"},
	{"GET /api/segment/get/order%2F", "Authorization: Bearer tag", "", "403 not for this path"},
	{"GET /api/segment/get/orders", "Authorization: Bearer tag", "", "403 not for this path"},
	{"GET /api/segment/get/%6Frder", "Authorization: Bearer tag", "", "200 \r\n\r\n5"},
	{"POST /api/segment/range/order", "Authorization: Bearer tag", "", `200 "from":`},
	{"GET /api/segment/get/a%2Fb", "Authorization: Bearer group", "", "404 unknown key"},
	{"GET /api/segment/get/a", "Authorization: Bearer group", "", "403 "},
	{"GET /api/snowflake/get/order", "Authorization: Bearer tag", "", "403 "},
	{"GET /api/snowflake/get/order", "Authorization: Bearer times", "", "200 "},
	{"GET /api/segment/get/order", "Authorization: Bearer times", "", "403 "},
	{"POST /api/worker/assign", js + "|Authorization: Bearer times", "{}", "403 "},
	{"POST /api/worker/assign", js + "|Authorization: Bearer worker", "{}", "400 max_worker is missing"},
	{"POST /api/worker/assign", js, "{}", "401 "},
	{"GET /decodeSnowflakeId?snowflakeId=1", "Authorization: Bearer tag", "", "200 workerId"},
	{"GET /", "Authorization: Bearer tag", "", "403 "},
	{"GET /metrics", "Authorization: Bearer tag", "", "403 "},
	{"GET /metrics", "", "", "401 "},
	{"GET /", all, "", "200 <!DOCTYPE html>"},
	{"GET /health", "", "", "200 up"},
	{"GET /health/", "", "", "200 up"},
	{"GET /healthy", "", "", "401 "},
	{"GET /nothing", "", "", "401 "},
	{"GET /nothing", all, "", "404 page not found"},
	{"GET /api/segment/get/order", all + "|Host: ids.example", "", "200 \r\n\r\n6"},
	{"GET /api/segment/get/order", all + "|Sec-Fetch-Site: cross-site", "", "403 another origin"},
}

// methodRequests are a request of each path with each method. A method that a path does not take is
// answered with those that it takes.
func methodRequests() (list []asked) {
	for path, allow := range map[string]string{
		"/api/segment/get/methods": "GET, POST", "/api/snowflake/get/methods": "GET, POST",
		"/api/segment/range/methods": "POST", "/api/worker/assign": "POST", "/api/worker/extend": "POST",
		"/api/worker/release": "POST", "/api/worker/now": "POST", "/decodeSnowflakeId": "GET, HEAD, POST",
		"/openapi.json": "GET, HEAD", "/health": "GET, HEAD", "/": "GET, HEAD", "/cache": "GET, HEAD",
		"/metrics": "GET, HEAD", "/debug/uid": "GET, HEAD",
	} {
		for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get"} {
			if !slices.Contains(strings.Split(allow, ", "), m) {
				list = append(list, asked{m + " " + path, "", "", "405 Allow: " + allow + "\r\n"})
			}
		}
	}
	return list
}

// TestRequests: what a server answers to requests of all kinds, byte by byte, so that no library of a
// client corrects them. None of them stops it.
func TestRequests(t *testing.T) {
	t.Parallel()
	if n := len(openRequests) + len(tokenRequests); n < 150 {
		t.Errorf("the tables have %d requests, want at least 150", n)
	}
	start := func(args ...string) string {
		b := newBench(t)
		b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "100")
		return strings.TrimPrefix(b.serve(t, append(args, "--wait", "1m")...).base, "http://")
	}
	file := filepath.Join(t.TempDir(), "tokens")
	const tokens = "all\ntag tag=order\ngroup tag=a/*\ntimes snowflake\nworker workers\n"
	if err := os.WriteFile(file, []byte(tokens), 0o600); err != nil {
		t.Fatal(err)
	}
	open, guarded := start(), start("--token-file", file)
	for addr, list := range map[string][]asked{open: openRequests, guarded: tokenRequests} {
		for _, a := range list {
			a.check(t, addr)
		}
	}
	for _, a := range methodRequests() {
		a.check(t, open)
	}
}

// check sends the request on a connection of its own.
func (a asked) check(t *testing.T, addr string) {
	t.Helper()
	head := ""
	if !strings.Contains(a.head, "Host: ") {
		head = "Host: " + addr + "\r\n"
	}
	if a.head != "" {
		head += strings.ReplaceAll(a.head, "|", "\r\n") + "\r\n"
	}
	if !strings.Contains(a.head, "Content-Length") {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(a.body))
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	go func() { // fails where the server has answered before it has read all
		_, _ = io.WriteString(conn, a.line+" HTTP/1.1\r\n"+head+"Connection: close\r\n\r\n"+a.body)
	}()
	method, _, _ := strings.Cut(a.line, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Errorf("%.100s, %.60q: %v, want %s", a.line, a.head, err, a.want)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body) // an answer to a long body may be cut off at its end
	var answer strings.Builder
	if err := resp.Header.Write(&answer); err != nil {
		t.Fatal(err)
	}
	answer.WriteString("\r\n")
	answer.Write(body)
	status, part, _ := strings.Cut(a.want, " ")
	got := answer.String()
	ends := !strings.HasPrefix(part, "\r\n\r\n") || strings.HasSuffix(got, part)
	if fmt.Sprint(resp.StatusCode) != status || !strings.Contains(got, part) || !ends {
		t.Errorf("%.100s, %.60q = %s %.500s, want %q", a.line, a.head, resp.Status, got, a.want)
	}
}
