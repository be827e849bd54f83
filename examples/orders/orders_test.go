package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/uidgorm"
	"github.com/uidring/uidring/uid/uidtest"
)

// newStore returns a store on a new SQLite file whose ids come from gen.
func newStore(t *testing.T, gen uid.Generator) store {
	t.Helper()
	db, err := gorm.Open(sqlite.Open(t.TempDir()+"/orders.db"), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	s := store{db}
	if err := errors.Join(db.Use(uidgorm.New(gen, nil)), s.migrate()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlace: orders get ids with their user's gene, and are in the user's table.
func TestPlace(t *testing.T) {
	gen := &uidtest.Generator{Layout: layout}
	s := newStore(t, gen)
	orders := []Order{{Item: "tea"}, {ID: 7, Item: "cup"}} // place ignores an id that a client sends
	if err := s.place(t.Context(), 42, orders); err != nil {
		t.Fatal(err)
	}
	if orders[0].ID != 1<<2|2 || orders[1].ID != 2<<2|2 { // 42 ends in 10
		t.Errorf("the ids are %v and %v, want 6 and 10", orders[0].ID, orders[1].ID)
	}
	var rows int64
	if err := s.db.Table("orders_2").Count(&rows).Error; err != nil || rows != 2 {
		t.Errorf("orders_2 has %d rows, %v, want 2", rows, err)
	}
	if o, err := s.order(t.Context(), 10); o.Item != "cup" || err != nil {
		t.Errorf("order 10 is %+v, %v, want the cup", o, err)
	}
}

// TestWithoutIDs: a client is told to try again while there are no ids, and nothing is stored.
func TestWithoutIDs(t *testing.T) {
	gen := &uidtest.Generator{Layout: layout}
	s := newStore(t, gen)
	h := handler(s, slog.New(slog.DiscardHandler))
	user := "42"
	post := func(body string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost,
			"/users/"+user+"/orders", strings.NewReader(body)))
		return w.Code
	}
	gen.Fail(batch, uid.ErrClaimExpired)
	s.db.SkipDefaultTransaction = true // as a program may set it
	many := "[" + strings.Repeat(`{"item":"tea"},`, batch) + `{"item":"tea"}]`
	if code := post(many); code != http.StatusServiceUnavailable {
		t.Errorf("with ids for the first batch only: %d, want 503", code)
	}
	if all, err := s.ofUser(t.Context(), 42); len(all) != 0 || err != nil {
		t.Errorf("%d orders of a request that failed are stored, %v, want none", len(all), err)
	}
	gen.Fail(0, uid.ErrClaimExpired)
	if code := post(`[{"item":"tea"}]`); code != http.StatusServiceUnavailable {
		t.Errorf("without ids: %d, want 503", code)
	}
	gen.Fail(0, uid.ErrExhausted)
	if code := post(`[{"item":"tea"}]`); code != http.StatusInternalServerError {
		t.Errorf("with ids used up: %d, want 500", code)
	}
	gen.Fail(0, nil)
	if code := post(`{`); code != http.StatusBadRequest {
		t.Errorf("a bad body: %d, want 400", code)
	}
	user = "0"
	if code := post(`[{"item":"tea"}]`); code != http.StatusBadRequest {
		t.Errorf("user 0: %d, want 400", code)
	}
	user = "42"
	if all, err := s.ofUser(t.Context(), 42); len(all) != 0 || err != nil {
		t.Errorf("%d orders are stored, %v, want none", len(all), err)
	}
}

// TestService runs the service on a real database, with a client in JavaScript, and stops it. Its
// account has the rights that schema.yaml names, and its DSN the form of the usage line.
func TestService(t *testing.T) {
	server := dbtest.MariaDB(t)
	name := server.CreateDB(t)
	account := "service_" + name
	server.Exec(t, "CREATE USER "+account+" IDENTIFIED BY 'secret'",
		"GRANT SELECT, INSERT, UPDATE ON "+name+".* TO "+account)
	if err := migrate(t.Context(), server.DSN(name)); err != nil {
		t.Fatal(err)
	}
	dsn := account + ":secret@tcp(" + server.Addr() + ")/" + name
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer l.Close() // also after an early end, which the requests then show
		ended <- run(ctx, dsn, l, slog.New(slog.DiscardHandler))
	}()

	t.Run("client", func(t *testing.T) {
		node, err := exec.LookPath("node")
		if err != nil {
			if os.Getenv("UIDRING_REQUIRE_SERVERS") == "1" {
				t.Fatal("node not found in PATH")
			}
			t.Skip("skipped: JavaScript client: node not found in PATH")
		}
		out, err := exec.CommandContext(t.Context(), node, "client.mjs", base).CombinedOutput()
		if err != nil || string(out) != "2 placed, 2 found\n" {
			t.Errorf("the client says %q, %v, want 2 placed, 2 found", out, err)
		}
	})
	for path, want := range map[string]string{
		"/ready":      `"status":"up"`,
		"/metrics":    `uidring_status{generator="orders",status="up"} 1`,
		"/debug/uid":  "<h2>orders</h2>",
		"/orders/1":   "Not Found",
		"/orders/one": "Bad Request",
	} {
		if got := get(t, base+path); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s, want %s in it", path, got, want)
		}
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("run() = %v, want no error", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("run() has not returned 20 s after its ctx ended")
	}
	left := fmt.Sprintf("SELECT COUNT(*) FROM %s.WORKER_LEASE WHERE OWNER <> ''", name)
	if n := strings.TrimSpace(server.Query(t, "mysql", left)); n != "0" {
		t.Errorf("%s worker ids are held after the end, want 0", n)
	}
}

// get returns the body at url.
func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
