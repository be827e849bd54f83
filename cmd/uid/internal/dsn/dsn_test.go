package dsn

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, name, place string }{
		{"mysql://me:pw@db:3307/ids", "me:pw@tcp(db:3307)/ids", "mysql at db:3307/ids"},
		{"mysql://me:p%40w%2F%3A@db/ids?tls=true", "me:p@w/:@tcp(db:3306)/ids?tls=true", "mysql at db:3306/ids"},
		{"mysql://me:pw@db/a%20b%3F", "me:pw@tcp(db:3306)/a%20b%3F", "mysql at db:3306/a b?"},
		{"MariaDB://db/ids", "tcp(db:3306)/ids", "mysql at db:3306/ids"},
		{"mysql://me@[::1]:3306/ids", "me@tcp([::1]:3306)/ids", "mysql at [::1]:3306/ids"},
		{"me:pw@tcp(db:3306)/ids?parseTime=true", "me:pw@tcp(db:3306)/ids?parseTime=true", "mysql at db:3306/ids"},
		{"me:p@:/(w@tcp(db:3306)/ids", "me:p@:/(w@tcp(db:3306)/ids", "mysql at db:3306/ids"},
		{"me:pw@unix(/run/my.sock)/ids", "me:pw@unix(/run/my.sock)/ids", "mysql at /run/my.sock/ids"},
		{"postgres://me:pw@db:5433/ids", "postgres://me:pw@db:5433/ids", "postgres at db:5433/ids"},
		{"PostgreSQL:///ids?host=/run/pg", "postgresql:///ids?host=/run/pg", "postgres at /run/pg/ids"},
		{"postgres://me@one,two:5433/ids", "postgres://me@one,two:5433/ids", "postgres at one:5433,two:5433/ids"},
		{"host = db password='p\\' host=w' dbname = 'i ds'",
			"host = db password='p\\' host=w' dbname = 'i ds'", "postgres at db:5432/i ds"},
		{"host=db user=me password='p w' dbname=ids",
			"host=db user=me password='p w' dbname=ids", "postgres at db:5432/ids"},
		{"sqlite:/var/lib/ids", "/var/lib/ids", "sqlite file /var/lib/ids"},
		{"sqlite:///var/lib/ids", "/var/lib/ids", "sqlite file /var/lib/ids"},
		{"sqlite://ids.db", "ids.db", "sqlite file ids.db"},
		{"file:ids", "ids", "sqlite file ids"},
		{" ./my ids.sqlite3\n", "./my ids.sqlite3", "sqlite file ./my ids.sqlite3"},
		{`C:\ids.db`, `C:\ids.db`, `sqlite file C:\ids.db`},
	} {
		s, err := Parse(c.text)
		if err != nil || s.name != c.name || s.Place != c.place {
			t.Errorf("Parse(%q) = %q, %q, %v, want %q, %q", c.text, s.name, s.Place, err, c.name, c.place)
		}
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"":                                errForm,
		"ids":                             errForm,
		"/var/lib/ids":                    errForm,
		"localhost:3306":                  errForm,
		"me:secret@db/ids":                errForm,
		"redis://me:secret@db/0":          errForm,
		"mysql://":                        errURL,
		"mysql://me:secret@/ids":          errURL,
		"mysql://me:secret@db":            errURL,
		"mysql://me:secret@db:port/ids":   errURL,
		"mysql://me:sec%zzret@db/ids":     errURL,
		"mysql://me:sec#ret@db/ids":       errURL,
		"mysql://me:secret@db/ids/more":   errURL,
		"mysql://me:secret@db/ids?tls=no": errURL,
		"me:s/ecret@tcp(db:3306)":         errMySQL,
		"me:x(y)/secret@tcp(db:3306)":     errMySQL,
		"me:p@x(y)/secret@tcp(db:3306)":   errMySQL,
		"a/b@unix(secret":                 errMySQL,
		"me:secret@tcp(db:3306)/":         errMySQL,
		"me:secret@tcp(db:3306)":          errMySQL,
		"me:secret@tcp(db)/ids?timeout=x": errMySQL,
		"postgres://me:secret@db:port/i":  errPostgres,
		"postgres://me:sec ret@db/i d":    errPostgres,
		"host=db password='secret":        errPostgres,
		"host=db port=0 password=secret":  errPostgres,
		"mysql://me%3Ax:secret@db/ids":    errURL,
		"sqlite:":                         nil,
		"sqlite:ids?mode=ro":              nil,
		"sqlite::memory:":                 nil,
		":memory:":                        nil,
		"host=db sslmode=verify-full sslrootcert=/none password=secret": nil,
	} {
		s, err := Parse(text)
		if err == nil || want != nil && err != want {
			t.Errorf("Parse(%q) = %+v, %v, want the error %v", text, s, err, want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q) fails with %q, want no secret", text, err)
		}
	}
}

// TestSecrets: Parse knows the password that the driver uses, wherever it comes from.
func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(file, []byte("kept:*:*:*:elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGPASSFILE", file)
	for text, want := range map[string]string{
		"mysql://me:a%2fb%20c@db/ids":                         "a/b c",
		"me:a@b:c/d@tcp(db)/ids":                              "a@b:c/d",
		"postgres://me:one@db/ids?password=tw%6f":             "two",
		"host=db password='a\\' b' dbname=ids":                "a' b",
		"postgres://me@kept/ids":                              "elsewhere",
		"host=db password = c\\ d dbname=ids sslmode=disable": `c\ d`,
	} {
		if s, err := Parse(text); err != nil || !slices.Equal(s.Secrets, []string{want}) {
			t.Errorf("Parse(%q) knows the secrets %q, %v, want %q", text, s.Secrets, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"mysql://a:b@c/d", "a:b@tcp(c)/d", "postgres://a:b@c/d", "host=a password=b", "sqlite:x", "x.db",
		"@tcp(", "(@unix(", "a:/@tcp(", "host='\\'", "mysql://u:p%41ss@h/d?password=x",
	} {
		f.Add(s)
	}
	fixed := []error{errForm, errURL, errMySQL, errPostgres}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if (err == nil) == (s.Dialect == "") {
			t.Errorf("Parse(%q) = %+v, %v, want a dialect or an error", text, s, err)
		}
		if err != nil && !slices.Contains(fixed, err) && len(text) > 40 &&
			strings.Contains(err.Error(), text) {
			t.Errorf("Parse(%q) quotes its input: %v", text, err)
		}
		// What the driver uses as the password is hidden by Learn alone, too.
		var r Redactor
		r.Learn(text)
		shown := r.Redact(text)
		for _, secret := range s.Secrets {
			if len(secret) > 2 && s.Dialect == MySQL && strings.Count(text, secret) == 1 &&
				strings.Contains(shown, secret) && !strings.Contains(text, "user:password@") {
				t.Errorf("%q is shown as %q, with the password %q", text, shown, secret)
			}
		}
	})
}
