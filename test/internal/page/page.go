// Package page reads the statements that sql/README.md tells an operator to run, so that
// tests run the text of the page itself.
package page

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The numbers in the page's statements that an operator replaces.
const (
	Highest = 5000
	Reach   = 25 * time.Minute
)

// Restore returns the statements to run after a restore, on the database that the page calls
// "MySQL and MariaDB", "PostgreSQL" or "SQLite", with the operator's numbers. file is the path of
// the page.
func Restore(file, database string, highest int64, reach time.Duration) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, rest, ok := strings.Cut(string(text), "\nOn "+database+":\n\n```sql\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		return nil, fmt.Errorf("page: %s has no statements for %s", file, database)
	}
	numbers := strings.NewReplacer(strconv.Itoa(Highest), strconv.FormatInt(highest, 10),
		strconv.FormatInt(Reach.Milliseconds(), 10), strconv.FormatInt(reach.Milliseconds(), 10))
	statements := strings.Split(strings.TrimSuffix(block, ";"), ";\n")
	for i, s := range statements {
		statements[i] = numbers.Replace(s)
	}
	return statements, nil
}
