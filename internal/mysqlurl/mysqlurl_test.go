package mysqlurl_test

import (
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

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
		"mysql://me:p%2Cw@a:1,b,[::1]:2/ids":   "me:p,w@tcp(a:1,b:3306,[::1]:2)/ids",
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
		"mysql://m%3Ae:pw@db/ids", "mysql://me:pw@a,,b/ids",
	} {
		if got, err := mysqlurl.DSN(text); err != mysqlurl.Err {
			t.Errorf("DSN(%q) = %q, %v, want Err", text, got, err)
		}
	}
}

// TestHosts: the addresses come back from what the driver makes of several.
func TestHosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"a:1":             {"a:1"},
		"a":               {"a:3306"},
		"[::1]:1":         {"[::1]:1"},
		"a:1,b:2":         {"a:1", "b:2"},
		"a,b":             {"a:3306", "b:3306"},
		"a:1,b":           {"a:1", "b:3306"},
		"a,b:2,c":         {"a:3306", "b:2", "c:3306"},
		"[::1]:1,[::2]:2": {"[::1]:1", "[::2]:2"},
		"[::1]:1,b":       {"[::1]:1", "b:3306"},
		"b,[::1]":         {"b:3306", "[::1]:3306"},
	} {
		cfg, err := mysql.ParseDSN("me:pw@tcp(" + text + ")/ids")
		if err != nil {
			t.Fatal(err)
		}
		if got := mysqlurl.Hosts(cfg.Addr); !slices.Equal(got, want) {
			t.Errorf("Hosts of %s, which the driver has as %s, are %q, want %q", text, cfg.Addr, got, want)
		}
	}
}
