package faults

import (
	"os"
	"testing"
)

// document returns the report that these tests stand behind.
func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
