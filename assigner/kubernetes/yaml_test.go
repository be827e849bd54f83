package kubernetes_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/kubernetes"
)

func TestYAML(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	type l = []any
	for text, want := range map[string]any{
		"a: b":                           m{"a": "b"},
		"a:\n  b: c\nd: e # f":           m{"a": m{"b": "c"}, "d": "e"},
		"a:\n- b\n- c\n":                 m{"a": l{"b", "c"}},
		"a:\n  - b: 1\n    c: 2\n  - d":  m{"a": l{m{"b": "1", "c": "2"}, "d"}},
		"- - a\n  - b\n- c":              l{l{"a", "b"}, "c"},
		"-\n  a: b\n-\n- ''":             l{m{"a": "b"}, nil, ""},
		"url: https://h:1/p#q":           m{"url": "https://h:1/p#q"},
		"\"k: 1\": \"\\u0041\\n\"\r\n":   m{"k: 1": "A\n"},
		"a: 'it''s' # x\nb: {}\nc: []":   m{"a": "it's", "b": m{}, "c": l{}},
		"a:\nb: ~\nc: null\nd: \"null\"": m{"a": nil, "b": nil, "c": nil, "d": "null"},
	} {
		got, err := kubernetes.ParseYAML(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q = %#v, %v, want %#v", text, got, err, want)
		}
	}
	if _, err := kubernetes.ParseYAML(strings.Repeat("- ", 1000) + "a"); err == nil {
		t.Error("1000 levels: no error")
	}
}

// FuzzYAML: every text is read or refused, and an error names a line that the text has.
func FuzzYAML(f *testing.F) {
	for name := range forms {
		f.Add(forms[name])
	}
	f.Add("- - a\n  - b: 'c'\n-\n  d: \"e\" # f\n")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := kubernetes.ParseYAML(text)
		if err == nil {
			_ = fmt.Sprint(v)
			return
		}
		var line int
		if n, _ := fmt.Sscanf(err.Error(), "line %d:", &line); n == 1 && line > strings.Count(text, "\n")+1 {
			t.Errorf("%v: there are fewer lines", err)
		}
	})
}
