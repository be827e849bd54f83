package main

import (
	"slices"
	"strings"
	"testing"
)

func TestParseDSN(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, source, display string }{
		{"mysql://me:pw@db:3307/ids", "me:pw@tcp(db:3307)/ids", "mysql at db:3307/ids"},
		{"mysql://me:p%40w%2F%3A@db/ids?tls=true", "me:p@w/:@tcp(db:3306)/ids?tls=true", "mysql at db:3306/ids"},
		{"mysql://me:pw@db/a%20b%3F", "me:pw@tcp(db:3306)/a%20b%3F", "mysql at db:3306/a b?"},
		{"mariadb://db/ids", "tcp(db:3306)/ids", "mysql at db:3306/ids"},
		{"mysql://me@[::1]:3306/ids", "me@tcp([::1]:3306)/ids", "mysql at [::1]:3306/ids"},
		{"me:pw@tcp(db:3306)/ids?parseTime=true", "me:pw@tcp(db:3306)/ids?parseTime=true", "mysql at db:3306/ids"},
		{"me:p@:/(w@tcp(db:3306)/ids", "me:p@:/(w@tcp(db:3306)/ids", "mysql at db:3306/ids"},
		{"me:pw@unix(/run/my.sock)/ids", "me:pw@unix(/run/my.sock)/ids", "mysql at /run/my.sock/ids"},
		{"postgres://me:pw@db:5432/ids", "postgres://me:pw@db:5432/ids", "postgres at db:5432/ids"},
		{"postgresql:///ids?host=/run/pg", "postgresql:///ids?host=/run/pg", "postgres at /run/pg/ids"},
		{"host = db password='p\\' host=w' dbname = 'i ds'", "host = db password='p\\' host=w' dbname = 'i ds'", "postgres at db/i ds"},
		{"host=db user=me password='p w' dbname=ids", "host=db user=me password='p w' dbname=ids", "postgres at db/ids"},
		{"sqlite:/var/lib/ids", "/var/lib/ids", "sqlite file /var/lib/ids"},
		{"sqlite:///var/lib/ids", "/var/lib/ids", "sqlite file /var/lib/ids"},
		{"sqlite://ids.db", "ids.db", "sqlite file ids.db"},
		{"file:ids", "ids", "sqlite file ids"},
		{" ./my ids.sqlite3\n", "./my ids.sqlite3", "sqlite file ./my ids.sqlite3"},
		{`C:\ids.db`, `C:\ids.db`, `sqlite file C:\ids.db`},
	} {
		d, err := parseDSN(c.text)
		if err != nil || d.source != c.source || d.display != c.display {
			t.Errorf("parseDSN(%q) = %q, %q, %v, want %q, %q", c.text, d.source, d.display, err, c.source, c.display)
		}
	}
}

func TestParseDSNErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ids", "/var/lib/ids", "localhost:3306", "me:secret@db/ids", "redis://me:secret@db/0", "mysql://",
		"mysql://me:secret@/ids", "mysql://me:secret@db", "mysql://me:secret@db:port/ids", "mysql://me:sec%zzret@db/ids",
		"mysql://me:sec#ret@db/ids", "mysql://me%3Ax:secret@db/ids", "mysql://me:secret@db/ids/more", "me:s/ecret@tcp(db:3306)", "a/b@unix(secret", "postgres://me:secret@db:port/ids", "me:secret@tcp(db:3306)/", "me:secret@tcp(db:3306)",
		"sqlite:", "sqlite:ids?mode=ro", "sqlite::memory:", ":memory:",
	} {
		d, err := parseDSN(text)
		if err == nil {
			t.Errorf("parseDSN(%q) = %+v, want an error", text, d)
		} else if !strings.HasPrefix(err.Error(), "--dsn: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("parseDSN(%q) fails with %q, want --dsn: and no secret", text, err)
		}
	}
}

// TestDSNSecrets: the password is known in every form in which it may turn up in a message.
func TestDSNSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"mysql://me:a%2fb%20c@db/ids", []string{"a/b c", "a%2fb%20c"}},
		{"me:a@b:c/d@tcp(db)/ids", []string{"a@b:c/d"}},
		{"postgres://me:one@db/ids?password=tw%6f&sslpassword=three&sslmode=disable", []string{"one", "one", "two", "three"}},
		{"host=db password='a\\' b' sslPassword = c\\ d dbname=ids", []string{"a' b", "c d"}},
		{"host=db password='a b", []string{"a b"}},
	} {
		d, err := parseDSN(c.text)
		slices.Sort(d.secrets)
		slices.Sort(c.want)
		if err != nil || !slices.Equal(d.secrets, c.want) {
			t.Errorf("parseDSN(%q) knows the secrets %q, %v, want %q", c.text, d.secrets, err, c.want)
		}
	}
}

func FuzzParseDSN(f *testing.F) {
	for _, s := range []string{"mysql://a:b@c/d", "a:b@tcp(c)/d", "postgres://a:b@c/d", "host=a password=b", "sqlite:x", "x.db", "@tcp(", "(@unix(", "a:/@tcp(", "host='\\'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDSN(s)
		if (err == nil) == (d.dialect == "") {
			t.Errorf("parseDSN(%q) = %+v, %v, want a dialect or an error", s, d, err)
		}
		if err != nil && err.Error() != errDSN.Error() && len(s) > 40 && strings.Contains(err.Error(), s) {
			t.Errorf("parseDSN(%q) quotes its input: %v", s, err)
		}
	})
}
