package mysqlurl_test

import (
	"testing"

	"github.com/uidring/uidring/internal/mysqlurl"
)

func TestDSN(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mysql://me:pw@db:3307/ids":            "me:pw@tcp(db:3307)/ids",
		"MariaDB://db/ids/":                    "tcp(db:3306)/ids",
		"mysql://u%20r:p%40%2F%3A@[::1]/a%20b": "u r:p@/:@tcp([::1]:3306)/a%20b",
		"mysql://me@db/ids?a=b&c=d":            "me@tcp(db:3306)/ids?a=b&c=d",
		"mysql://me:@db":                       "me:@tcp(db:3306)/",
		"me:mysql://pw@tcp(db:3306)/ids":       "me:mysql://pw@tcp(db:3306)/ids",
		"postgres://me:pw@db/ids":              "postgres://me:pw@db/ids",
		"":                                     "",
	} {
		if got, err := mysqlurl.DSN(text); got != want || err != nil {
			t.Errorf("DSN(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"mysql://", "mysql://me:pw@/ids", "mysql://me:pw@db:port/ids", "mysql://me:p%zz@db/ids",
		"mysql://me:p#w@db/ids", "mysql://me:pw@db/ids#x", "mysql://me:pw@db/ids/more",
		"mysql://m%3Ae:pw@db/ids",
	} {
		if got, err := mysqlurl.DSN(text); err != mysqlurl.Err {
			t.Errorf("DSN(%q) = %q, %v, want Err", text, got, err)
		}
	}
}
