package kubernetes_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testManifests: the server takes every object of examples/kubernetes and knows every field.
func testManifests(t *testing.T, s *apiServer) {
	files, err := filepath.Glob("../../examples/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %q, %v, want some", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			found := regexp.MustCompile(`(?m)^apiVersion: (.*)\nkind: (.*)$`).FindStringSubmatch(doc)
			if found == nil {
				t.Fatalf("%s has an object without version and kind:\n%s", file, doc)
			}
			path := "/apis/" + found[1]
			if !strings.Contains(found[1], "/") { // the core group has no name
				path = "/api/" + found[1]
			}
			path += "/namespaces/default/" + strings.ToLower(found[2]) + "s?fieldValidation=Strict&dryRun=All"
			if code, text := s.request(t, http.MethodPost, path, "application/yaml", doc); code != http.StatusCreated {
				t.Errorf("%s: %s: %d %s", file, found[2], code, text)
			}
		}
	}
}
