package result_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/bench/internal/result"
)

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &result.File{Meta: result.Meta{Suite: "time", Commit: "abc"}}
	for i := range 3 {
		f.Add("t", "a", "x", "ns", float64(i), nil)
	}
	f.Add("t", "b", "x", "ns", 1, nil)
	f.Add("t", "b", "x", "ns", 0, errors.New("broken"))
	f.Add("t", "b", "x", "ns", 2, nil)
	if err := f.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := result.Load(dir, "time")
	if err != nil {
		t.Fatal(err)
	}
	if got.Meta.Commit != "abc" || len(got.Rows) != 2 {
		t.Errorf("%d rows of %+v", len(got.Rows), got.Meta)
	}
	if a := got.Get("t", "a", "x"); !slices.Equal(a.Values, []float64{0, 1, 2}) || a.Unit != "ns" {
		t.Errorf("a is %+v", a)
	}
	if b := got.Get("t", "b", "x"); b.Err != "broken" || len(b.Values) != 0 {
		t.Errorf("b is %+v, want its error alone", b)
	}
}

// What a text file of results begins with names what it was measured on.
func TestConditions(t *testing.T) {
	t.Parallel()
	m := result.NewMeta(t.Context(), "", false)
	text := result.Conditions(t.Context())
	for _, want := range []string{m.GoVersion, "commit " + m.Commit, m.Processor, m.Date.Format("2006-01-02T")} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if f, err := result.Load(dir, "time"); err != nil || len(f.Rows) > 0 {
		t.Errorf("a file that is not there: %v, %v", f, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "time.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := result.Load(dir, "time"); err == nil {
		t.Error("a broken file loads")
	}
}
