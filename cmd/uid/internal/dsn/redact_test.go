package dsn

import "testing"

// TestRedact: what Learn has found is hidden.
func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ learned, in, want string }{
		{"", "nothing here", "nothing here"},
		{"mysql://me:pw@db/ids",
			"unexpected argument mysql://me:pw@db/ids", "unexpected argument mysql://me:*****@db/ids"},
		{"postgres://me:p@w:@db/ids", "postgres://me:p@w:@db/ids and more", "postgres://me:*****@db/ids and more"},
		{"me:pw@tcp(db:3306)/ids", "me:pw@tcp(db:3306)/ids", "me:*****@tcp(db:3306)/ids"},
		{"me:p w@x@tcp(db:3306)/ids", "me:p w@x@tcp(db:3306)/ids", "me:*****@tcp(db:3306)/ids"},
		{"me:p w@x@tcp(db:3306", "bad: me:p w@x@tcp(db:3306", "bad: me:*****@tcp(db:3306"},
		{"me:pw@/ids", "me:pw@/ids", "me:*****@/ids"},
		{"--dsn=me:pw@db/ids", "unexpected argument me:pw@db/ids", "unexpected argument me:*****@db/ids"},
		{"me:p/w@x:y@db.example:3306/ids", "me:p/w@x:y@db.example:3306/ids: no", "me:*****@db.example:3306/ids: no"},
		{"redis://me:hunter2@db/0", `got "redis://me:hunter2@db/0"`, `got "redis://me:*****@db/0"`},
		{"mysql://me:a%2fb@db/ids", "a%2fb", "*****"},
		{"",
			"open /home/me@corp/uid.db: http://127.0.0.1:8080/a", "open /home/me@corp/uid.db: http://127.0.0.1:8080/a"},
		{`me:say "hi"@tcp(db)/x`, `msg="a say \"hi\" b" error="say \"hi\""`, `msg="a ***** b" error="*****"`},
		{"host=db password=pw dbname=ids", "host=db password=pw dbname=ids", "host=db password=***** dbname=ids"},
		{"host=db Password = 'p \\' w' dbname=ids",
			"host=db Password = 'p \\' w' dbname=ids; p \\' w", "host=db Password = ***** dbname=ids; *****"},
		{"host=db passwd=pw&x pwd=a\\ b", "passwd=pw&x pwd=a\\ b", "passwd=***** pwd=*****"},
		{"postgres://db/ids?sslpassword=thr%65e&x=y", "sslpassword=thr%65e&x=y", "sslpassword=*****&x=y"},
		{"host=db password='a b", "host=db password='a b", "host=db password=*****"},
		{"me:hunter2@db", "a hunter2 b hunter2", "a ***** b *****"},
		{"me:a@db", "a letter is no secret", "a letter is no secret"},
		{"me:@db/", "me:@db/", "me:@db/"},
		{"mysql://user:password@host/db", errForm.Error(), errForm.Error()},
		{"me:pw@tcp(db)/ids",
			"me:pw@tcp(db)/ids: want user:password@tcp(host)/db",
			"me:*****@tcp(db)/ids: want user:password@tcp(host)/db"},
		{"41-10-12/1ms@2026-01-01T00:00:00Z", "41-10-12/1ms@2026-01-01T00:00:00Z", "41-10-12/1ms@2026-01-01T00:00:00Z"},
		{"", "dial tcp 127.0.0.1:3306: connection refused", "dial tcp 127.0.0.1:3306: connection refused"},
	} {
		var r Redactor
		r.Learn(c.learned)
		if got := r.Redact(c.in); got != c.want {
			t.Errorf("after %q Redact(%q) = %q, want %q", c.learned, c.in, got, c.want)
		}
	}
}

// TestSecret: a password that a driver has read is hidden wherever it stands.
func TestSecret(t *testing.T) {
	t.Parallel()
	var r Redactor
	r.Secret("hunter2", "", "a", `say "hi"`, "hunter22")
	in := `a hunter2 b "say \"hi\"" hunter22`
	if got, want := r.Redact(in), `a ***** b "*****" *****`; got != want {
		t.Errorf("Redact(%q) = %q, want %q", in, got, want)
	}
}
