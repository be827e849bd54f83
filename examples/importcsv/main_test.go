package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestImport stores more than two batches, and nothing of a batch with a bad line.
func TestImport(t *testing.T) {
	server := dbtest.MariaDB(t)
	name := server.CreateDB(t)
	var file strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&file, "login,user %d\n", i)
	}
	if n, err := run(t.Context(), server.DSN(name), strings.NewReader(file.String())); n != 2500 || err != nil {
		t.Fatalf("run() = %d, %v, want 2500", n, err)
	}
	n, err := run(t.Context(), server.DSN(name), strings.NewReader(file.String()+"one field\n"))
	if n != 2000 || err == nil || !strings.Contains(err.Error(), "after 2000 stored events") {
		t.Errorf("run() with a bad line = %d, %v, want 2000 and an error that says so", n, err)
	}
	rows := "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT id), ' ', MIN(id) > 0, ' ', COUNT(DISTINCT text)) FROM events"
	if got := strings.TrimSpace(server.Query(t, name, rows)); got != "4500 4500 1 2500" {
		t.Errorf("rows, ids, all above 0, texts: %s, want 4500 4500 1 2500", got)
	}
}
