package e2e

import (
	"database/sql"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// fence is where docs/moving.md lets AUTO_INCREMENT go on, and apart is how far two tables are.
const fence, apart = int64(9220000000000000000), int64(1_000_000_000_000)

// shop is a database with two tables that old writers insert into without an id, and new writers
// with one.
type shop struct {
	pool *sql.DB
	gen  *uid.Cached

	mu     sync.Mutex
	ids    map[int64]string // what made the id; guarded by mu
	twice  int              // guarded by mu
	failed []error          // guarded by mu
}

// note records an id, or why there is none.
func (s *shop) note(id int64, err error, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = append(s.failed, fmt.Errorf("%s: %w", what, err))
		return
	}
	if was, ok := s.ids[id]; ok {
		if s.twice++; s.twice == 1 {
			s.failed = append(s.failed, fmt.Errorf("%d is of %s and of %s", id, was, what))
		}
	}
	s.ids[id] = what
}

// write has old and new writers insert into both tables, at the same time, until each of them has
// made n rows.
func (s *shop) write(t *testing.T, n int) {
	t.Helper()
	var wg sync.WaitGroup
	var done atomic.Int64
	for i := range 8 {
		table := [...]string{"orders", "invoices"}[i%2]
		wg.Go(func() {
			defer done.Add(1)
			for range n {
				if i < 4 { // as an old program does, with the id from LAST_INSERT_ID
					var id int64
					r, err := s.pool.Exec("INSERT INTO " + table + " (made) VALUES (1)")
					if err == nil {
						id, err = r.LastInsertId()
					}
					s.note(id, err, "AUTO_INCREMENT of "+table)
					continue
				}
				id, err := s.gen.Next(t.Context())
				if err == nil {
					_, err = s.pool.Exec("INSERT INTO "+table+" (id, made) VALUES (?, 2)", int64(id))
				}
				s.note(int64(id), err, "new "+table)
			}
		})
	}
	wg.Wait()
}

// openShop makes the tables as a program of long ago has them, with rows.
func openShop(t *testing.T, srv *dbtest.Server) *shop {
	t.Helper()
	dsn := srv.DSN(srv.CreateDB(t))
	pool, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	s := &shop{pool: pool, ids: map[int64]string{}}
	s.run(t, "CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, made INT NOT NULL) "+
		"ENGINE = InnoDB", "CREATE TABLE invoices (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, "+
		"made INT NOT NULL) ENGINE = InnoDB", "CREATE TABLE items (id INT NOT NULL AUTO_INCREMENT "+
		"PRIMARY KEY, order_id INT NOT NULL, CONSTRAINT items_order FOREIGN KEY (order_id) "+
		"REFERENCES orders (id)) ENGINE = InnoDB")
	for range 50 {
		s.run(t, "INSERT INTO orders (made) VALUES (0)", "INSERT INTO invoices (made) VALUES (0)",
			"INSERT INTO items (order_id) VALUES (1)")
	}
	db := dialects[0].connect(t, dsn)
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s.gen, err = uid.NewCached(t.Context(), workernode.Leased(db, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.gen.Close() })
	return s
}

// run runs statements.
func (s *shop) run(t *testing.T, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := s.pool.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// movingSQL returns the statements of the block of docs/moving.md that contains a text.
func movingSQL(t *testing.T, part string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/moving.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^ *```sql\n(.*?)^ *```$").FindAllSubmatch(text, -1) {
		if block := strings.TrimSpace(string(m[1])); strings.Contains(block, part) {
			return strings.Split(strings.TrimSuffix(block, ";"), ";")
		}
	}
	t.Fatalf("docs/moving.md has no statement with %q", part)
	return nil
}

// TestAutoIncrementWithoutStop moves two tables by docs/moving.md while their old writers go on: no
// insert fails, and no id of a row is that of another one, of either table, through a kill of the
// server. The old writers' counter is never lifted by a new id.
func TestAutoIncrementWithoutStop(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	s := openShop(t, srv)
	const n = 150
	s.run(t, movingSQL(t, "DROP FOREIGN KEY")...)
	s.run(t, "ALTER TABLE invoices MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
	s.run(t, movingSQL(t, "AUTO_INCREMENT = ")...)
	s.run(t, "INSERT INTO orders (made) VALUES (0)", "INSERT INTO invoices (made) VALUES (0)")
	var pinned bool
	if err := s.pool.QueryRow(movingSQL(t, "MAX(id) >=")[0]).Scan(&pinned); err != nil || !pinned {
		t.Fatalf("the page's check says %v, %v after an old writer's row", pinned, err)
	}
	s.write(t, n)
	// InnoDB of old counts on from the highest row after a restart.
	if err := srv.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); s.pool.Ping() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("the server is not back")
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.write(t, n)
	if len(s.failed) > 0 || s.twice > 0 || len(s.ids) != 16*n {
		t.Fatalf("%d ids of %d, %d twice, %d failed: %v", len(s.ids), 16*n, s.twice, len(s.failed),
			s.failed[:min(3, len(s.failed))])
	}
	for id, what := range s.ids {
		low, high := int64(1<<40), fence
		switch what {
		case "AUTO_INCREMENT of orders":
			low, high = fence, fence+apart
		case "AUTO_INCREMENT of invoices":
			low, high = fence+apart, fence+2*apart
		}
		if id < low || id >= high {
			t.Fatalf("%s made %d, want %d to %d", what, id, low, high)
		}
	}
	var rows, distinct int
	if err := s.pool.QueryRow("SELECT COUNT(*), COUNT(DISTINCT id) FROM (SELECT id FROM orders WHERE "+
		"id > 50 UNION ALL SELECT id FROM invoices WHERE id > 50) AS both_tables").Scan(&rows,
		&distinct); err != nil || rows != 16*n+2 || distinct != rows {
		t.Errorf("the tables have %d rows with %d ids, %v, want %d", rows, distinct, err, 16*n+2)
	}
	// When the old writers are gone: one that was forgotten fails, without strict mode at its second
	// row.
	s.run(t, "ALTER TABLE items DROP FOREIGN KEY items_order")
	s.run(t, movingSQL(t, "MODIFY id BIGINT NOT NULL;")...)
	_, _ = s.pool.Exec("INSERT INTO orders (made) VALUES (1)")
	if _, err := s.pool.Exec("INSERT INTO orders (made) VALUES (1)"); err == nil {
		t.Error("a forgotten writer still gets ids")
	}
}

// TestAutoIncrementLifted: without the fence the first new id lifts the counter, and the old writers
// jump among the new ids. It shows that TestAutoIncrementWithoutStop can fail.
func TestAutoIncrementLifted(t *testing.T) {
	t.Parallel()
	s := openShop(t, servers.MariaDB(t))
	s.run(t, movingSQL(t, "DROP FOREIGN KEY")...)
	s.run(t, "ALTER TABLE invoices MODIFY id BIGINT NOT NULL AUTO_INCREMENT")
	s.write(t, 150)
	lowest := int64(math.MaxInt64)
	lifted := 0
	for id, what := range s.ids {
		if strings.HasPrefix(what, "new") {
			lowest = min(lowest, id)
		}
	}
	for id, what := range s.ids {
		if strings.HasPrefix(what, "AUTO") && id > lowest {
			lifted++
		}
	}
	if lifted == 0 {
		t.Error("no old writer's id was lifted above the first new id")
	}
	t.Logf("%d ids lifted, %d twice, %d inserts failed", lifted, s.twice, len(s.failed))
}
