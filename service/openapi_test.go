package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
)

// schema is the part of JSON Schema that the description uses.
type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Required   []string
	Properties map[string]schema
	Closed     *bool `json:"additionalProperties"`
	Items      *schema
	MinItems   int
	Enum       []string
	Pattern    string
	Format     string
	Nullable   bool
	Minimum    *float64
}

// description is the part of an OpenAPI document that the test reads.
type description struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Ref     string `json:"$ref"`
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

// problem returns how v violates s, or "".
func (d description) problem(s schema, v any) string {
	if s.Ref != "" {
		return d.problem(d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")], v)
	}
	switch x := v.(type) {
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := x[name]; !ok {
				return "lacks " + name
			}
		}
		for name, member := range x {
			of, ok := s.Properties[name]
			if !ok && s.Closed != nil {
				return "has " + name
			}
			if !ok {
				continue
			}
			if p := d.problem(of, member); p != "" {
				return name + " " + p
			}
		}
		return unless(s.Type == "object", "is an object")
	case []any:
		for _, item := range x {
			if p := d.problem(*s.Items, item); p != "" {
				return "has an item that " + p
			}
		}
		return unless(s.Type == "array" && len(x) >= s.MinItems, "is an array of %d", len(x))
	case string:
		_, err := time.Parse(time.RFC3339Nano, x)
		return unless(s.Type == "string" && (s.Enum == nil || slices.Contains(s.Enum, x)) &&
			regexp.MustCompile(s.Pattern).MatchString(x) && (s.Format != "date-time" || err == nil), "is %q", x)
	case float64:
		return unless(s.Type == "integer" && (s.Minimum == nil || x >= *s.Minimum), "is %v", x)
	case bool:
		return unless(s.Type == "boolean", "is %v", x)
	case nil:
		return unless(s.Nullable, "is null")
	}
	return fmt.Sprintf("is %v", v)
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// TestOpenAPI: the description has exactly the routes of the handler and their methods. Every status
// in it occurs, and every answer matches its schema.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("row full: %w", segment.ErrExhausted)
	numbered, _ := numbers(t)
	missing, source := numbers(t)
	source.Fail(errAway)
	used, _ := numbers(t)
	spent := newHandler(t, &service.HandlerOptions{Numbers: used, Timeout: time.Minute})
	get(spent, "/api/number/get/short?count=9")
	served := newHandler(t, &service.HandlerOptions{
		Numbers: numbered,
		Segment: newSegments(t, map[string]*tagRow{
			"order": {next: 1, step: 10}, "full": {err: full},
		}),
		Snowflake: &snowflake{id: 6}, Timeout: time.Minute,
		Workers: &claimtest.Memory{TellTime: true, Span: 10 * time.Minute},
	})
	hasty := newHandler(t, &service.HandlerOptions{
		Numbers: missing,
		Segment: newSegments(t, map[string]*tagRow{"away": {err: errAway}}), Timeout: time.Millisecond,
	})
	nothing := newHandler(t, &service.HandlerOptions{Workers: claimtest.Static(1)})
	without := newHandler(t, &service.HandlerOptions{Segment: newSegments(t, nil)})
	away := &claimtest.Memory{}
	away.Fail(errAway)
	broken := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{err: errAway}, Workers: away})
	lost := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{err: assigner.ErrClaimLost}})
	stopping := make(chan struct{})
	close(stopping)
	stopped := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}, Stopping: stopping})

	// The requests for each "METHOD path status" of the description.
	type request struct {
		h          http.Handler
		path, body string
	}
	memory := &claimtest.Memory{TellTime: true}
	failing := newHandler(t, &service.HandlerOptions{Workers: memory})
	key, failingKey, other := claimed(t, served), claimed(t, failing), `"claim":"nobody's","worker":0`
	memory.Fail(errAway)
	requests := map[string][]request{
		"POST /api/worker/assign 200": {{served, "/api/worker/assign", `{"max_worker":7,` + bound + `}`}},
		"POST /api/worker/assign 400": {
			{served, "/api/worker/assign", `x`}, {served, "/api/worker/assign", `{"max_worker":7}`},
			{served, "/api/worker/assign", `{"max_worker":-1,` + bound + `}`},
		},
		"POST /api/worker/assign 415": {{served, "/api/worker/assign", form}},
		"POST /api/worker/assign 404": {{without, "/api/worker/assign", `{}`}},
		"POST /api/worker/assign 409": {{nothing, "/api/worker/assign", `{"max_worker":0,` + bound + `}`}},
		"POST /api/worker/assign 503": {{broken, "/api/worker/assign", `{"max_worker":7,` + bound + `}`}},
		"POST /api/worker/extend 200": {
			{served, "/api/worker/extend", `{` + key + `,"until":"2999-01-01T00:00:00Z"}`},
		},
		"POST /api/worker/extend 400": {{served, "/api/worker/extend", ``}},
		"POST /api/worker/extend 415": {{served, "/api/worker/extend", form}},
		"POST /api/worker/extend 404": {{without, "/api/worker/extend", `{}`}},
		"POST /api/worker/extend 409": {
			{served, "/api/worker/extend", `{` + other + `,"until":"2999-01-01T00:00:00Z"}`},
			{served, "/api/worker/extend", `{` + key + `,"worker":1,"until":"2999-01-01T00:00:00Z"}`},
		},
		"POST /api/worker/extend 503":  nil, // below
		"POST /api/worker/now 200":     {{served, "/api/worker/now", `{` + key + `}`}},
		"POST /api/worker/now 400":     {{served, "/api/worker/now", `[]`}},
		"POST /api/worker/now 415":     {{served, "/api/worker/now", form}},
		"POST /api/worker/now 404":     {{without, "/api/worker/now", `{}`}},
		"POST /api/worker/now 409":     {{served, "/api/worker/now", `{` + other + `}`}},
		"POST /api/worker/now 503":     nil,
		"POST /api/worker/release 200": {{served, "/api/worker/release", `{` + claimed(t, served) + `,"used":null}`}},
		"POST /api/worker/release 409": {{served, "/api/worker/release", `{` + other + `,"used":null}`}},
		"POST /api/worker/release 400": {{served, "/api/worker/release", `{"used":1}`}},
		"POST /api/worker/release 415": {{served, "/api/worker/release", form}},
		"POST /api/worker/release 404": {{without, "/api/worker/release", `{}`}},
		"POST /api/worker/release 503": nil,
	}
	for _, op := range []string{"extend", "release", "now"} {
		requests["POST /api/worker/"+op+" 503"] = []request{
			{failing, "/api/worker/" + op, `{` + failingKey + `,"until":"2999-01-01T00:00:00Z","used":null}`},
		}
	}
	for _, m := range []string{"GET", "POST", "HEAD"} {
		more := map[string][]request{
			"/decodeSnowflakeId 200": {{served, "/decodeSnowflakeId?snowflakeId=1", ""}},
			"/decodeSnowflakeId 400": {{served, "/decodeSnowflakeId?snowflakeId=x", ""}},
		}
		if m != "HEAD" {
			maps.Copy(more, map[string][]request{
				"/api/segment/get/{key} 200": {
					{served, "/api/segment/get/order", ""}, {served, "/api/segment/get/order?count=3", ""},
				},
				"/api/segment/get/{key} 400": {{served, "/api/segment/get/order?count=1001", ""}},
				"/api/segment/get/{key} 404": {
					{served, "/api/segment/get/nobody", ""}, {nothing, "/api/segment/get/order", ""},
				},
				"/api/segment/get/{key} 500": {{served, "/api/segment/get/full", ""}},
				"/api/segment/get/{key} 503": {{hasty, "/api/segment/get/away", ""}},
				"/api/number/get/{name} 200": {
					{served, "/api/number/get/order?shop=BJ", ""}, {served, "/api/number/get/plain?count=9", ""},
				},
				"/api/number/get/{name} 400": {{served, "/api/number/get/order", ""}},
				"/api/number/get/{name} 404": {{served, "/api/number/get/nothing", ""}},
				"/api/number/get/{name} 500": {{spent, "/api/number/get/short", ""}},
				"/api/number/get/{name} 503": {{hasty, "/api/number/get/plain", ""}},
				"/api/snowflake/get/{key} 200": {
					{served, "/api/snowflake/get/a", ""}, {served, "/api/snowflake/get/a?count=3", ""},
				},
				"/api/snowflake/get/{key} 400": {{served, "/api/snowflake/get/a?count=0", ""}},
				"/api/snowflake/get/{key} 404": {{nothing, "/api/snowflake/get/a", ""}},
				"/api/snowflake/get/{key} 500": {{lost, "/api/snowflake/get/a", ""}},
				"/api/snowflake/get/{key} 503": {{broken, "/api/snowflake/get/a", ""}},
			})
		}
		if m == "POST" {
			maps.Copy(more, map[string][]request{
				"/api/segment/range/{key} 200": {
					{served, "/api/segment/range/order", ""}, {served, "/api/segment/range/order?count=3", ""},
				},
				"/api/segment/range/{key} 400": {
					{served, "/api/segment/range/order?count=2147483649", ""},
					{served, "/api/segment/range/order?count=x", ""},
				},
				"/api/segment/range/{key} 404": {
					{served, "/api/segment/range/nobody", ""}, {nothing, "/api/segment/range/order", ""},
				},
				"/api/segment/range/{key} 500": {{served, "/api/segment/range/full", ""}},
				"/api/segment/range/{key} 503": {{hasty, "/api/segment/range/away", ""}},
			})
		} else {
			maps.Copy(more, map[string][]request{
				"/health 200":       {{served, "/health", ""}},
				"/health 503":       {{stopped, "/health", ""}},
				"/openapi.json 200": {{served, "/openapi.json", ""}},
				"/ 200":             {{served, "/", ""}, {served, "/?q=or", ""}},
				"/cache 200":        {{served, "/cache", ""}},
			})
		}
		for name, list := range more {
			requests[m+" "+name] = list
		}
	}

	var d description
	if err := json.Unmarshal(get(served, "/openapi.json").Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	described := map[string][]string{}
	for path, operations := range d.Paths {
		for m, operation := range operations {
			m = strings.ToUpper(m)
			described[path] = append(described[path], m)
			// The server's, for a request without its token: any path but that of the probes.
			const noToken = "#/components/responses/NoToken"
			if ref := operation.Responses["401"].Ref; (ref == noToken) == (path == "/health") {
				t.Errorf("%s %s has %q as its answer 401", m, path, ref)
			}
			delete(operation.Responses, "401")
			for status, response := range operation.Responses {
				name := m + " " + path + " " + status
				if len(requests[name]) == 0 {
					t.Errorf("%s is described, but no request of this test gets it", name)
				}
				for _, r := range requests[name] {
					w := send(r.h, m, r.path, r.body)
					kind, _, err := mime.ParseMediaType(w.Header().Get("Content-Type"))
					content, ok := response.Content[kind]
					if fmt.Sprint(w.Code) != status || !ok || err != nil {
						t.Errorf("%s: %s = %d %s %s, which is not described", name, r.path, w.Code, kind, w.Body)
						continue
					}
					var value any = strings.TrimSuffix(w.Body.String(), "\n")
					if kind == "application/json" && m != "HEAD" {
						if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
							t.Errorf("%s: %s: %v", name, w.Body, err)
						}
					}
					if p := d.problem(content.Schema, value); p != "" && m != "HEAD" {
						t.Errorf("%s: the answer %s: %.200s", name, p, w.Body)
					}
				}
				delete(requests, name)
			}
		}
	}
	for name := range requests {
		t.Errorf("%s is not described", name)
	}
	for path, methods := range service.Routes(served) {
		slices.Sort(methods)
		slices.Sort(described[path])
		if !slices.Equal(methods, described[path]) {
			t.Errorf("%s answers %q, but is described with %q", path, methods, described[path])
		}
		delete(described, path)
	}
	for path := range described {
		t.Errorf("%s is described, but there is no such route", path)
	}
}

// bound is the member of a request's body that binds a claim to a layout.
const bound = `"layout":"41-10-12-0/1ms@2026-01-01T00:00:00Z"`

// claimed makes a claim and returns the members of a request's body that name it.
func claimed(t *testing.T, h http.Handler) string {
	t.Helper()
	w := send(h, "POST", "/api/worker/assign", `{"max_worker":7,`+bound+`}`)
	var got struct {
		Claim  string
		Worker int64
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 || err != nil {
		t.Fatalf("assign = %d %s, %v", w.Code, w.Body, err)
	}
	return fmt.Sprintf(`"claim":%q,"worker":%d`, got.Claim, got.Worker)
}

// send returns the answer to a request.
func send(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != form {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// form is a body that send does not call JSON.
const form = "a=form"

// TestDescribed: the checks of TestOpenAPI find values that violate their schema.
func TestDescribed(t *testing.T) {
	t.Parallel()
	closed, least := false, 1.0
	d := description{}
	d.Components.Schemas = map[string]schema{"Id": {Type: "string", Pattern: "^[0-9]+$"}}
	object := schema{Type: "object", Required: []string{"a"}, Closed: &closed, Properties: map[string]schema{
		"a": {Type: "integer", Minimum: &least},
		"b": {Type: "array", MinItems: 1, Items: &schema{Ref: "#/components/schemas/Id"}},
		"c": {Type: "string", Enum: []string{"x"}},
		"d": {Type: "boolean"},
		"e": {Type: "string", Format: "date-time"},
		"f": {Type: "string", Format: "date-time", Nullable: true},
	}}
	for text, want := range map[string]string{
		`{"a":1,"b":["7"],"c":"x","d":true,"e":"2026-01-01T00:00:00Z"}`: "",
		`{}`: "lacks a", `{"a":1,"z":1}`: "has z", `{"a":0}`: "a is 0", `{"a":"1"}`: `a is "1"`,
		`{"a":1,"b":[]}`:    "b is an array of 0",
		`{"a":1,"b":["x"]}`: `b has an item that is "x"`, `{"a":1,"b":[7]}`: "b has an item that is 7",
		`{"a":1,"c":"y"}`: `c is "y"`, `{"a":1,"d":"true"}`: `d is "true"`, `{"a":1,"e":"now"}`: `e is "now"`,
		`{"a":null}`: "a is null", `{"a":1,"f":null}`: "", `[]`: "is an array of 0",
	} {
		var v any
		err := json.Unmarshal([]byte(text), &v)
		if got := d.problem(object, v); got != want || errors.Join(err) != nil {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
}
