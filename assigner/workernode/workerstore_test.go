package workernode_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workerstore"
	"github.com/uidring/uidring/internal/workertable"
)

// storeOn returns the Store of a namespace in a database.
func storeOn(t *testing.T, db *sql.DB, namespace string) *workerstore.Store {
	t.Helper()
	d, err := sqldb.Open("workernode", db, "mysql", "over there", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := workerstore.Open(d, workertable.Node{Host: "host", Port: "1", Type: workertable.Actual},
		workerstore.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// database returns a database of the test's own, and what executes a statement there.
func database(t *testing.T) (*sql.DB, func(statement string, args ...any)) {
	t.Helper()
	srv, name := maria(t)
	db := pool(t, connect(t, srv.DSN(name)))
	return db, func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// rowOf inserts a row of namespace "orders": its WORKER_ID, UNTIL_MS, OWNER and LAYOUT.
const rowOf = "INSERT INTO WORKER_LEASE (NAMESPACE, GENERATION, NONCE, WORKER_ID, UNTIL_MS, OWNER, LAYOUT) " +
	"VALUES ('orders', 1, 7, ?, ?, ?, ?)"

// noteOf is the WORKER_ID of the note that a worker id was given out.
func noteOf(worker int) int { return -2 - worker }

// names returns the names of entries.
func names(entries []lease.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, e.Name)
	}
	return all
}

// TestStoreOptions: a namespace has 1 to 64 characters, no control characters and no spaces at the ends.
func TestStoreOptions(t *testing.T) {
	t.Parallel()
	db := sql.OpenDB(&stepClock{}) // never connects
	defer db.Close()
	d, err := sqldb.Open("workernode", db, "mysql", "over there", nil)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("ž", 64)
	for namespace, want := range map[string]string{"": workertable.DefaultNamespace, "a": "a", long: long,
		long + "a": "", " a": "", "a\x01b": ""} {
		s, err := workerstore.Open(d, workertable.Node{}, workerstore.Options{Namespace: namespace})
		if (err == nil) != (want != "") {
			t.Errorf("Open of namespace %q: %v", namespace, err)
		}
		if place := fmt.Sprintf("WORKER_LEASE, namespace %q, over there", want); err == nil && s.String() != place {
			t.Errorf("the place is %q, want %q", s, place)
		}
	}
}

// TestStoreHeader: a header is read as it was put, with what its row keeps of a move. What somebody has
// changed by hand is brought into bounds, or refused where it has no meaning.
func TestStoreHeader(t *testing.T) {
	t.Parallel()
	db, exec := database(t)
	s := storeOn(t, db, "orders")
	ctx := t.Context()
	old := lease.Entry{Name: "header"}
	const from, day = "etcd at 10.0.0.1:2379 under /uidring", `"reach_ms":86400000`
	for i, tt := range []struct{ put, want, owner string }{
		{`}`, `,"used":[],` + day + `}`, ""},
		{`,"floor_ms":1764000000000}`, `,"used":[],"floor_ms":1764000000000,` + day + `}`, "- - 1764000000000"},
		{`,"used":[[0,100],[200,201]],"floor_ms":5,"reach_ms":3,"move":{"token":"4711","from":"` + from + `"}}`,
			`,"used":[[0,100],[200,201]],"floor_ms":5,"reach_ms":3,"move":{"token":"4711","from":"` + from + `"}}`,
			"4711 - 5 0-99+200-200 " + from},
		{`,"move":{"token":"4711","done":true},"universe":"4294967296"}`,
			`,"used":[],` + day + `,"move":{"token":"4711","done":true},"universe":"4294967296"}`, "4711 done 0"},
		{`,"move":{"token":"` + strings.Repeat("x", 187) + `"}}`,
			`,"used":[],` + day + `,"move":{"token":"` + strings.Repeat("x", 187) + `"}}`, strings.Repeat("x", 187) + " - 0"},
	} {
		begin := fmt.Sprintf(`{"v":1,"token":"%d","layout":"a"`, i+1)
		put, err := s.Put(ctx, old, []byte(begin+tt.put))
		if err != nil || string(put.Value) != begin+tt.want || put.Name != "header" || !put.At.Equal(old.At) {
			t.Errorf("Put of %s = %s, %+v, %v, want %s", tt.put, put.Value, put, err, tt.want)
		}
		got, err := s.Get(ctx, "header")
		if err != nil || string(got.Value) != begin+tt.want || got.Version != put.Version || got.Name != put.Name ||
			time.Since(got.At).Abs() > time.Minute {
			t.Errorf("Get = %s, %+v, %v, want %s", got.Value, got, err, tt.want)
		}
		var owner string
		err = db.QueryRowContext(ctx, "SELECT OWNER FROM WORKER_LEASE WHERE NAMESPACE = 'orders'").Scan(&owner)
		if err != nil || owner != tt.owner {
			t.Errorf("the row keeps %q, %v, want %q", owner, err, tt.owner)
		}
		if _, err := s.Put(ctx, old, []byte(begin+`}`)); !errors.Is(err, lease.ErrConflict) {
			t.Errorf("Put in place of an old header = %v, want ErrConflict", err)
		}
		old = got
		fresh := storeOn(t, db, fmt.Sprint("fresh", i))
		_, err = fresh.Put(ctx, lease.Entry{Name: "header"}, []byte(begin+tt.put))
		if got, err2 := fresh.Get(ctx, "header"); err != nil || err2 != nil || string(got.Value) != begin+tt.want {
			t.Errorf("Get of a new header = %s, %v, %v, want %s", got.Value, err, err2, tt.want)
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, lease.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", what, err)
		}
	}
	bad := old
	bad.Version = "x"
	for _, tt := range []struct {
		old   lease.Entry
		value string
	}{
		{old, `{`}, {old, `{"layout":"` + strings.Repeat("x", 192) + `"}`}, {old, `{"used":[[0,1]]}`}, {bad, `{}`},
		{lease.Entry{Name: "header", Version: "1 2 a", Value: []byte("{")}, `{}`},
		{lease.Entry{Name: "slots-1"}, `{}`}, {lease.Entry{Name: "1"}, `{}`},
	} {
		_, err := s.Put(ctx, tt.old, []byte(tt.value))
		refused("Put of "+tt.value, err)
	}
	_, err := s.Put(ctx, old, []byte(`{"move":{"token":"`+strings.Repeat("x", 188)+`"}}`))
	if refused("Put of a long text", err); !strings.Contains(fmt.Sprint(err), "has 192 characters, want at most 191") {
		t.Errorf("Put of a long text: %v, want its length", err)
	}
	for _, owner := range []string{"x", "a - b", "a - 1 5", "a - 1 5-x"} {
		exec("UPDATE WORKER_LEASE SET OWNER = ?", owner)
		_, err := s.Get(ctx, "header")
		refused("Get of a header with OWNER "+owner, err)
	}

	const begin = `{"v":1,"token":"5","layout":"a","used":[]`
	exec("DELETE FROM WORKER_LEASE WHERE NAMESPACE <> 'orders'")
	hand := func(s *workerstore.Store, owner string, until, universe int64, want string) {
		t.Helper()
		exec("UPDATE WORKER_LEASE SET OWNER = ?, UNTIL_MS = ?, GENERATION = ? WHERE NAMESPACE <> ''", owner, until,
			universe)
		got, err := s.Get(ctx, "header")
		version := fmt.Sprintf("5 %d a", until)
		if err != nil || string(got.Value) != begin+want || got.Version != version {
			t.Errorf("Get = %s, %+v, %v, want %s and version %s", got.Value, got, err, want, version)
		}
		old = got
	}
	hand(s, "", -5, 0, `}`)
	hand(s, "", 1, 1<<32, `,"reach_ms":1,"universe":"4294967296"}`)
	hand(s, "", 1<<60, 1<<32-1, `,"reach_ms":63244800000}`)
	if _, err := s.Put(ctx, old, []byte(`{"token":"6","layout":"`+strings.Repeat("x", 191)+`"}`)); err != nil {
		t.Errorf("Put in place of a reach that is too long: %v", err)
	}
	exec("DELETE FROM WORKER_LEASE")
	if _, err := storeOn(t, db, "orders").Put(ctx, old, []byte(`{}`)); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("Put in place of a header that was deleted = %v, want ErrConflict", err)
	}
	if got, err := s.Get(ctx, "header"); err != nil || got.Version != "" {
		t.Errorf("Get of a header that was deleted = %+v, %v, want none", got, err)
	}
	exec(rowOf, -1, 1, "", "")
	exec("UPDATE WORKER_LEASE SET NONCE = 5, LAYOUT = 'a'")
	exec("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER, LAYOUT) " +
		"VALUES ('', -1, 0, 0, 9, '', '')")
	hand(s, "", 1, 0, `,"floor_ms":9,"reach_ms":1}`)
	hand(s, "- - 50", 1, 0, `,"floor_ms":50,"reach_ms":1}`)
	exec("UPDATE WORKER_LEASE SET NAMESPACE = 'default' WHERE NAMESPACE = 'orders'")
	hand(storeOn(t, db, ""), "- - 50", 1, 0, `,"floor_ms":50,"counted_ms":9,"reach_ms":1}`)
}

// TestStoreLook: Look returns the rows whose windows have passed, longest first, in a range, of the lists of
// layouts that the namespace has had: all of those that the header's list begins with. The other reads
// show each row as it is.
func TestStoreLook(t *testing.T) {
	t.Parallel()
	db, exec := database(t)
	s := storeOn(t, db, "orders")
	ctx := t.Context()
	if e, err := s.Latest(ctx); err != nil || e.Name != "" {
		t.Errorf("Latest without rows = %+v, %v, want none", e, err)
	}
	later := time.Now().Add(time.Hour).UnixMilli()
	for i, r := range []struct {
		until  int64
		layout string
	}{{0, ""}, {40, ""}, {30, "a"}, {20, "a,b"}, {10, "b"}, {5, "a,b,c"}, {later, ""}} {
		exec(rowOf, i, r.until, "me", r.layout)
	}
	all := lease.Query{Last: 99, Limit: 99}
	if h, got, err := s.Look(ctx, all); err != nil || h.Version != "" || h.Name != "header" || len(got) != 0 {
		t.Errorf("Look without a header = %+v, %v, %v, want none", h, got, err)
	}
	if got, err := s.List(ctx); err != nil || len(got) != 7 {
		t.Errorf("List without a header = %v, %v, want 7 slots", names(got), err)
	}
	exec(rowOf, -1, 0, "", "")
	for _, tt := range []struct {
		header string
		query  lease.Query
		want   string
	}{
		{"|a~b", all, "slot-0 slot-3 slot-2 slot-1"}, {"a|b", all, "slot-3 slot-2"}, {"a", all, "slot-2"},
		{"", all, "slot-0 slot-1"}, {"~a", all, "slot-0 slot-2 slot-1"},
		{"|a|b", lease.Query{Last: 9, Limit: 9, Reserved: true}, "slot-0 slot-3 slot-2 slot-1 slot-6"},
		{"|a|b", lease.Query{Last: 9, Limit: 2, Skip: 1}, "slot-3 slot-2"},
		{"|a|b", lease.Query{First: 1, Last: 2, Limit: 9}, "slot-2 slot-1"},
	} {
		exec("UPDATE WORKER_LEASE SET LAYOUT = ? WHERE WORKER_ID = -1", tt.header)
		h, got, err := s.Look(ctx, tt.query)
		if strings.Join(names(got), " ") != tt.want || err != nil || h.Version == "" {
			t.Errorf("Look with layouts %q = %v, %v, want %s", tt.header, names(got), err, tt.want)
		}
	}
	got, err := s.List(ctx)
	if err != nil || len(got) != 8 || got[0].Name != "header" {
		t.Errorf("List = %v, %v, want the header and 7 slots", names(got), err)
	}
	h, got, err := s.Running(ctx, time.UnixMilli(30))
	if err != nil || h.Version == "" || len(got) != 2 || !slices.Contains(names(got), "slot-1") {
		t.Errorf("Running = %v, %v, want slots 1 and 6", names(got), err)
	}
	slot, err := s.Get(ctx, "slot-6")
	want := fmt.Sprintf(`{"v":1,"gen":1,"token":"7","owner":"me","until_ms":%d}`, later)
	if err != nil || string(slot.Value) != want || slot.Version != fmt.Sprint("1 7 ", later) || slot.Name != "slot-6" ||
		time.Since(slot.At).Abs() > time.Minute {
		t.Errorf("Get = %s, %+v, %v, want %s", slot.Value, slot, err, want)
	}
	if e, err := s.Latest(ctx); err != nil || string(e.Value) != want || e.Name != "slot-6" ||
		e.Version != slot.Version {
		t.Errorf("Latest = %s, %+v, %v, want %s", e.Value, e, err, want)
	}
	if e, err := s.Get(ctx, "slot-9"); err != nil || e.Version != "" || e.Name != "slot-9" ||
		time.Since(e.At).Abs() > time.Minute {
		t.Errorf("Get of no row = %+v, %v, want its name and the time", e, err)
	}
	for _, name := range []string{"x", "slot-x", "9"} {
		_, err := s.Get(ctx, name)
		shown, err2 := s.Shows(ctx, name, "7")
		if !errors.Is(err, lease.ErrRefused) || !errors.Is(err2, lease.ErrRefused) || shown {
			t.Errorf("Get and Shows of %q = %v, %v, want ErrRefused", name, err, err2)
		}
	}
	for token, want := range map[string]bool{"7": true, "8": false} {
		if shown, err := s.Shows(ctx, "slot-6", token); err != nil || shown != want {
			t.Errorf("Shows of token %s = %v, %v, want %v", token, shown, err, want)
		}
	}
	if now, err := s.Now(ctx); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("Now = %v, %v, want the time", now, err)
	}
}

// TestStoreShorten: before a header's list of layouts becomes one that others began with, the rows with
// longer lists get it. Other changes of the list, and other namespaces, leave rows alone.
func TestStoreShorten(t *testing.T) {
	t.Parallel()
	db, exec := database(t)
	s := storeOn(t, db, "orders")
	for _, tt := range []struct{ before, after, want string }{
		{"a~b~c", "a", "a,a,a,"}, {"a~b", "a", "a,a,b,c,a,"}, {"a|b", "a", "a,b,a,b,c,a,"}, {"|a~b", "a", "a,a,b,c,a,"},
		{"a~b", "a|c", "a,b,a,b,c,a,"}, {"a~b", "a~", "a,b,a,b,c,a,"},
	} {
		exec("DELETE FROM WORKER_LEASE")
		exec(rowOf, -1, 1, "", tt.before)
		for i, layout := range []string{"a,b", "a,b,c", "a", ""} {
			exec(rowOf, i, 1, "", layout)
		}
		exec("INSERT INTO WORKER_LEASE SELECT 'other', WORKER_ID, GENERATION, NONCE, OWNER, UNTIL_MS, LAYOUT, " +
			"MODIFIED, CREATED FROM WORKER_LEASE")
		old, err := s.Get(t.Context(), "header")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), old, []byte(`{"token":"8","layout":"`+tt.after+`"}`)); err != nil {
			t.Errorf("Put of %q in place of %q: %v", tt.after, tt.before, err)
		}
		for namespace, want := range map[string]string{"orders": tt.want, "other": "a,b,a,b,c,a,"} {
			var got string
			err := db.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(LAYOUT ORDER BY WORKER_ID) FROM WORKER_LEASE "+
				"WHERE NAMESPACE = ? AND WORKER_ID >= 0", namespace).Scan(&got)
			if err != nil || got != want {
				t.Errorf("%q in place of %q leaves %s the layouts %q, %v, want %q", tt.after, tt.before, namespace, got,
					err, want)
			}
		}
	}
}

// TestStoreNotes: a row comes with a note, once, that keeps its worker id from being given out again when the
// row is deleted by hand, and so does the change of a row that has none. The namespace "default" has no notes.
func TestStoreNotes(t *testing.T) {
	t.Parallel()
	db, exec := database(t)
	s := storeOn(t, db, "orders")
	ctx := t.Context()
	notes := func() (n int) {
		t.Helper()
		err := db.QueryRowContext(ctx,
			"SELECT COUNT(*) FROM WORKER_LEASE WHERE WORKER_ID < -1 AND UNTIL_MS = -1").Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	none, value := lease.Entry{Name: "slot-0"}, func(token int) []byte {
		return fmt.Appendf(nil, `{"gen":2,"token":"%d","owner":"me","layout":"a","until_ms":9}`, token)
	}
	e, err := s.Put(ctx, none, value(7))
	if want := `{"v":1,"gen":2,"token":"7","owner":"me","layout":"a","until_ms":9}`; err != nil ||
		string(e.Value) != want || e.Version != "2 7 9" || e.Name != "slot-0" || notes() != 1 {
		t.Errorf("Put = %s, %+v, %v and %d notes, want %s and 1", e.Value, e, err, notes(), want)
	}
	exec("UPDATE WORKER_LEASE SET UNTIL_MS = 10 WHERE WORKER_ID = 0")
	if _, err := s.Put(ctx, e, value(8)); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("Put in place of a row that was changed by hand = %v, want ErrConflict", err)
	}
	exec("DELETE FROM WORKER_LEASE WHERE WORKER_ID = 0")
	if _, err := s.Put(ctx, none, value(8)); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("Put of a worker id that was given out = %v, want ErrConflict", err)
	}
	exec("DELETE FROM WORKER_LEASE")
	exec(rowOf, 0, 9, "", "")
	s = storeOn(t, db, "orders") // another process
	old, err := s.Get(ctx, "slot-0")
	if err != nil {
		t.Fatal(err)
	}
	old, err = s.Put(ctx, old, value(8))
	if err != nil || notes() != 1 {
		t.Errorf("a change of a row without a note: %v, %d notes, want 1", err, notes())
	}
	exec("DELETE FROM WORKER_LEASE WHERE WORKER_ID < -1")
	if _, err := s.Put(ctx, old, value(9)); err != nil || notes() != 0 {
		t.Errorf("a second change: %v, %d notes, want no other try", err, notes())
	}
	for _, tt := range []struct{ version, value string }{{"x", "{}"}, {old.Version, "{"},
		{old.Version, `{"layout":"` + strings.Repeat("x", 192) + `"}`}} {
		if _, err := s.Put(ctx, lease.Entry{Name: "slot-0", Version: tt.version}, []byte(tt.value)); !errors.Is(err,
			lease.ErrRefused) {
			t.Errorf("Put of %s in place of version %s = %v, want ErrRefused", tt.value, tt.version, err)
		}
	}
	own := storeOn(t, db, "default")
	e, err = own.Put(ctx, none, value(7))
	if err == nil {
		_, err = storeOn(t, db, "default").Put(ctx, e, value(8)) // another process
	}
	if err != nil || notes() != 0 {
		t.Errorf("Put in the namespace of WORKER_NODE: %v, %d notes, want none", err, notes())
	}
}

// TestStoreNumbers: a namespace of its own gives out worker ids that have neither row nor note and that no
// move has left as used, from the last page with a gap, and says which ones are used or were deleted.
func TestStoreNumbers(t *testing.T) {
	t.Parallel()
	db, exec := database(t)
	s := storeOn(t, db, "orders")
	ctx := t.Context()
	number := func(first, last int64, n int, want ...int64) {
		t.Helper()
		ids, own, err := s.Number(ctx, first, last, n)
		if err != nil || own || !slices.Equal(ids, want) {
			t.Errorf("Number(%d, %d, %d) = %v, %v, %v, want %v", first, last, n, ids, own, err, want)
		}
	}
	used := func(worker int64, want bool, refusal error) {
		t.Helper()
		got, err := s.Used(ctx, worker)
		if got != want && refusal == nil || !errors.Is(err, refusal) {
			t.Errorf("Used(%d) = %v, %v, want %v, %v", worker, got, err, want, refusal)
		}
	}
	deleted := func(first, next int64, want ...int64) {
		t.Helper()
		ids, then, err := s.Deleted(ctx, first)
		slices.Sort(ids)
		if err != nil || then != next || !slices.Equal(ids, want) {
			t.Errorf("Deleted(%d) = %v, %d, %v, want %v, %d", first, ids, then, err, want, next)
		}
	}
	number(0, 9, 3, 0, 1, 2)
	deleted(0, 0)
	for _, worker := range []int{9, 8, 5, noteOf(5), noteOf(7), noteOf(9)} {
		exec(rowOf, worker, -1, "", "")
	}
	number(0, 9, 3, 0, 1, 2)
	number(5, 9, 3, 6)
	number(8, 9, 3)
	used(7, true, nil)
	used(6, false, nil)
	used(5, true, lease.ErrConflict)
	var gone int
	err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM WORKER_LEASE WHERE OWNER = 'gone' AND UNTIL_MS = -1 AND "+
		"WORKER_ID < -(1 << 61)").Scan(&gone)
	if err != nil || gone != 1 {
		t.Errorf("the proof that a row is missing left %d rows that nothing reads, %v, want 1", gone, err)
	}
	deleted(0, 5+1<<16, 7)
	deleted(6, 7+1<<16, 7)
	deleted(8, 9+1<<16)
	deleted(10, 0)
	exec(rowOf, noteOf(5+1<<16), -1, "", "")
	exec(rowOf, noteOf(4+1<<16), -1, "", "")
	deleted(0, 5+1<<16, 7, 4+1<<16)
	deleted(5+1<<16, 5+1<<17, 5+1<<16)

	exec(rowOf, -1, 1, "1 - 0 0-2+4-4+6-8", "")
	if _, err := s.Get(ctx, "header"); err != nil {
		t.Fatal(err)
	}
	number(0, 10, 9, 3, 10)
	exec("UPDATE WORKER_LEASE SET OWNER = 'x' WHERE WORKER_ID = -1")
	if _, err := s.Get(ctx, "header"); err == nil {
		t.Error("a header that cannot be read was read")
	}
	number(0, 10, 9, 3, 10) // as it was last read
	number(1, 3, 9, 3)
	number(3, 3, 9, 3)
	number(4, 9, 9)
	used(2, true, nil)
	used(3, false, nil)
	used(6, true, nil)
	used(10, false, nil)

	exec("DELETE FROM WORKER_LEASE WHERE WORKER_ID <> -1")
	for worker := 9; worker <= 299; worker++ {
		if !slices.Contains([]int{20, 21, 250}, worker) {
			exec(rowOf, worker, 1, "", "")
		}
	}
	number(0, 299, 5, 250)
	exec(rowOf, 250, 1, "", "")
	number(0, 299, 5, 3, 5, 20, 21)
	number(22, 299, 5)
	for worker := range 11 { // more rows and notes than a page
		exec(rowOf, noteOf(300+worker), -1, "", "")
	}
	number(22, 310, 5)
}

// TestStoreKeys: the namespace "default" gives out the keys of WORKER_NODE, each one used from then on, until
// a move stops it for good.
func TestStoreKeys(t *testing.T) {
	t.Parallel()
	db, exec := database(t)
	s := storeOn(t, db, "")
	ctx := t.Context()
	for want := range int64(2) {
		ids, own, err := s.Number(ctx, 0, 2, 9)
		if err != nil || !own || !slices.Equal(ids, []int64{want + 1}) {
			t.Errorf("Number = %v, %v, %v, want %d", ids, own, err, want+1)
		}
	}
	if ids, own, err := s.Number(ctx, 0, 2, 9); !errors.Is(err, assigner.ErrWorkersExhausted) || ids != nil || own {
		t.Errorf("Number = %v, %v, %v, want ErrWorkersExhausted", ids, own, err)
	}
	var node string
	row := db.QueryRowContext(ctx, "SELECT CONCAT(HOST_NAME, ' ', PORT, ' ', TYPE) FROM WORKER_NODE WHERE ID = 2")
	if err := row.Scan(&node); err != nil || node != "host 1 2" {
		t.Errorf("the row of the key is %q, %v, want this process's", node, err)
	}
	exec("UPDATE WORKER_NODE SET HOST_NAME = 'other' WHERE ID = 1")
	exec("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER, LAYOUT) " +
		"VALUES ('default', 1, 1, 7, 1, '', '')")
	for worker, want := range map[int64]bool{1: false, 2: true, 3: false} {
		if own, err := s.Owns(ctx, worker); err != nil || own != want {
			t.Errorf("Owns(%d) = %v, %v, want %v", worker, own, err, want)
		}
		if used, err := s.Used(ctx, worker); worker == 1 && !errors.Is(err, lease.ErrConflict) ||
			worker > 1 && (err != nil || used != want) {
			t.Errorf("Used(%d) = %v, %v, want %v", worker, used, err, want)
		}
	}
	exec("INSERT INTO WORKER_LEASE (NAMESPACE, WORKER_ID, GENERATION, NONCE, UNTIL_MS, OWNER, LAYOUT) "+
		"VALUES ('default', ?, 1, 7, -1, '', '')", noteOf(2)) // by hand
	if ids, next, err := s.Deleted(ctx, 0); err != nil || ids != nil || next != 0 {
		t.Errorf("Deleted = %v, %d, %v, want none", ids, next, err)
	}
	if highest, err := storeOn(t, db, "orders").Endless(ctx, true); err != nil || highest != -1 {
		t.Errorf("Endless of another namespace = %d, %v, want -1", highest, err)
	}
	for i, stop := range []bool{false, true, false, true} {
		want := int64(2)
		if i > 0 {
			want = 3 // which stopping took
		}
		if highest, err := s.Endless(ctx, stop); err != nil || highest != want {
			t.Errorf("Endless(%v) = %d, %v, want %d", stop, highest, err, want)
		}
	}
	var rows int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM WORKER_NODE").Scan(&rows); err != nil || rows != 4 {
		t.Errorf("WORKER_NODE has %d rows, %v, want 4", rows, err)
	}
	if ids, _, err := s.Number(ctx, 0, 1<<53, 9); !errors.Is(err, assigner.ErrWorkersExhausted) {
		t.Errorf("Number after the stop = %v, %v, want ErrWorkersExhausted", ids, err)
	}
}

// TestStoreStop: WORKER_NODE is locked while a move stops it, and neither a stop nor the look before it that
// fails leaves anything to the session. Where no worker id of a page was deleted, nothing joins.
func TestStoreStop(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	var sent []string
	var denied string
	db := pool(t, intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Through: func(_ context.Context, query string, run func() error) error {
			sent = append(sent, strings.Join(strings.Fields(query + " ;")[:2], " "))
			if denied != "" && strings.HasPrefix(query, denied) {
				return errDenied
			}
			return run()
		}}))
	db.SetMaxOpenConns(1)
	ctx := within(t, 30*time.Second)
	s, other := storeOn(t, db, ""), pool(t, connect(t, srv.DSN(name)))
	for _, stop := range []bool{false, true} {
		denied = "LOCK TABLES WORKER_NODE READ"
		if stop {
			denied = "INSERT INTO WORKER_NODE"
		}
		if _, err := s.Endless(ctx, stop); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Endless(%v) without the right: %v, want ErrRefused", stop, err)
		}
		var wait int
		if err := db.QueryRowContext(ctx, "SELECT @@lock_wait_timeout").Scan(&wait); err != nil || wait == 1 {
			t.Errorf("after Endless(%v) the session waits %d s for locks, %v", stop, wait, err)
		}
		if _, err := other.ExecContext(ctx, "UPDATE WORKER_NODE SET PORT = ''"); err != nil {
			t.Errorf("after Endless(%v) the table is locked: %v", stop, err)
		}
	}
	denied = ""
	tx, err := other.BeginTx(ctx, nil)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE WORKER_NODE SET PORT = ''")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Endless(ctx, false); err != nil {
		t.Errorf("the look before a stop, during a transaction: %v, want no wait for it", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	sent = nil
	if _, err := s.Endless(ctx, true); err != nil {
		t.Error(err)
	}
	from, to := slices.Index(sent, "LOCK TABLES"), slices.Index(sent, "UNLOCK TABLES")
	if insert := slices.Index(sent, "INSERT INTO"); from < 0 || insert < from || to < insert {
		t.Errorf("Endless sent %q, want its INSERTs under a lock", sent)
	}
	orders := storeOn(t, db, "orders")
	if _, err := orders.Put(ctx, lease.Entry{Name: "slot-1"}, []byte(`{"token":"1","until_ms":1}`)); err != nil {
		t.Error(err)
	}
	sent = nil
	ids, _, err := orders.Deleted(ctx, 0)
	if err != nil || len(ids) != 0 || slices.Contains(sent, "SELECT NOTE.WORKER_ID") {
		t.Errorf("Deleted = %v, %v, and sent %q, want no join", ids, err, sent)
	}
}

// TestStoreFails: whichever statement of a method is denied, the method is refused. None goes on with what it
// has not read.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	srv, name := maria(t)
	left := 1 << 30 // how many statements are made before one is denied
	db := pool(t, intercept(t, &dbtest.Interceptor{Connectors: connectors(t, srv.DSN(name)),
		Through: func(_ context.Context, query string, run func() error) error {
			for _, text := range []string{"SELECT", "INSERT", "UPDATE", "LOCK", "UNLOCK", "SET", "SHOW", "BEGIN"} {
				if !strings.HasPrefix(query, text) {
					continue
				}
				if left--; left == -1 {
					return errDenied
				}
			}
			return run()
		}}))
	ctx := t.Context()
	own, keys := storeOn(t, db, "orders"), storeOn(t, db, "")
	for _, worker := range []int{-1, 0, noteOf(0), noteOf(1)} {
		if _, err := db.ExecContext(ctx, rowOf, worker, 1, "", "a~b"); err != nil {
			t.Fatal(err)
		}
	}
	_, _, numbered := keys.Number(ctx, 0, 9, 1)
	_, _, looked := own.Look(ctx, lease.Query{}) // for the keys as well, which the account need not see
	if err := errors.Join(numbered, looked); err != nil {
		t.Fatal(err)
	}
	token := 10
	change := func(s *workerstore.Store, name, layout string) func() error {
		return func() error {
			old, err := s.Get(ctx, name)
			if err != nil {
				return err
			}
			token++
			_, err = s.Put(ctx, old, fmt.Appendf(nil, `{"token":"%d","layout":"%s"}`, token, layout))
			return err
		}
	}
	for what, call := range map[string]func() error{
		"Number":  func() error { _, _, err := own.Number(ctx, 0, 9, 1); return err },
		"a key":   func() error { _, _, err := keys.Number(ctx, 0, 1<<40, 1); return err },
		"Owns":    func() error { _, err := keys.Owns(ctx, 1); return err },
		"Used":    func() error { _, err := own.Used(ctx, 1); return err },
		"a used":  func() error { _, err := keys.Used(ctx, 0); return err },
		"change":  change(own, "slot-0", ""),
		"note":    func() error { return change(storeOn(t, db, "orders"), "slot-0", "")() },
		"shorten": func() error { return errors.Join(change(own, "header", "a~b")(), change(own, "header", "a")()) },
		"List":    func() error { _, err := own.List(ctx); return err },
		"Look":    func() error { _, _, err := own.Look(ctx, lease.Query{Last: 9, Limit: 9}); return err },
		"Latest":  func() error { _, err := own.Latest(ctx); return err },
		"Shows":   func() error { _, err := own.Shows(ctx, "slot-0", "7"); return err },
		"Running": func() error { _, _, err := own.Running(ctx, time.Now()); return err },
		"Deleted": func() error { _, _, err := own.Deleted(ctx, 0); return err },
		"Endless": func() error { _, err := keys.Endless(ctx, false); return err },
		"no row":  func() error { _, err := own.Get(ctx, "slot-9"); return err },
		"Now":     func() error { _, err := own.Now(ctx); return err },
	} {
		for n := 0; ; n++ {
			left = n
			err := call()
			if left >= 0 { // all statements were made
				if err != nil || n == 0 {
					t.Errorf("%s of %d statements: %v", what, n, err)
				}
				break
			}
			if !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%s whose statement %d is denied: %v, want ErrRefused", what, n, err)
			}
		}
	}
	for n := 0; ; n++ { // a stop begins anew for each
		if _, err := db.ExecContext(ctx, "DELETE FROM WORKER_NODE WHERE ID >= ?", workertable.Raised); err != nil {
			t.Fatal(err)
		}
		left = n
		_, err := keys.Endless(ctx, true)
		if left >= 0 {
			break
		}
		if !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Endless whose statement %d is denied: %v, want ErrRefused", n, err)
		}
	}
	left = 1 << 30
	if _, err := db.ExecContext(ctx, rowOf, 7, 1, "", ""); err != nil {
		t.Fatal(err)
	}
	old, err := own.Get(ctx, "slot-7")
	if err != nil {
		t.Fatal(err)
	}
	for _, left = range []int{0, 1 << 30} { // the note is made by the second try
		_, err = own.Put(ctx, old, []byte(`{"token":"1"}`))
	}
	n := 0
	read := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM WORKER_LEASE WHERE WORKER_ID = ?", noteOf(7)).Scan(&n)
	if err != nil || read != nil || n != 1 {
		t.Errorf("a change after one whose note was denied: %v, %v, %d notes, want 1", err, read, n)
	}
}
