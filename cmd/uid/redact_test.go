package main

import "testing"

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"nothing here", "nothing here"},
		{"unexpected argument mysql://me:pw@db/ids", "unexpected argument mysql://me:*****@db/ids"},
		{"postgres://me:p@w:@db/ids and more", "postgres://me:*****@db/ids and more"},
		{"me:pw@tcp(db:3306)/ids", "me:*****@tcp(db:3306)/ids"},
		{"me:p w@x@tcp(db:3306)/ids", "me:*****@tcp(db:3306)/ids"},
		{"me:pw@/ids", "me:*****@/ids"},
		{"unexpected argument me:pw@db/ids", "unexpected argument me:*****@db/ids"},
		{"me:p/w@x:y@db.example:3306/ids: no", "me:*****@db.example:3306/ids: no"},
		{"open /home/me@corp/uid.db: http://127.0.0.1:8080/a", "open /home/me@corp/uid.db: http://127.0.0.1:8080/a"},
		{`msg="a say \"hi\" b" error="say \"hi\""`, `msg="a ***** b" error="*****"`},
		{"host=db password=pw dbname=ids", "host=db password=***** dbname=ids"},
		{"host=db Password = 'p \\' w' dbname=ids", "host=db Password = ***** dbname=ids"},
		{"a hunter2 b hunter2", "a ***** b *****"},
		{errDSN.Error(), errDSN.Error()},
		{"mysql at 127.0.0.1:1/ids: bad; want user:password@tcp(host:port)/db", "mysql at 127.0.0.1:1/ids: bad; want user:password@tcp(host:port)/db"},
		{"me:pw@tcp(db)/ids: want user:password@tcp(host)/db", "me:*****@tcp(db)/ids: want user:password@tcp(host)/db"},
		{"xuser:password@tcp(db)/ids \x00", "xuser:*****@tcp(db)/ids "},
		{"dial tcp 127.0.0.1:3306: connection refused", "dial tcp 127.0.0.1:3306: connection refused"},
	} {
		if got := redact(c.in, "hunter2", "", "a", `say "hi"`); got != c.want {
			t.Errorf("redact(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"one":                             "one",
		" failed:\n\tno  way\n\tno way\n": "failed: no way",
		"a\n\nb\na\r\nc":                  "a b c",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
